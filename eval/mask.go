package eval

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
)

// A rule finds one kind of personal data: the first group of its pattern.
type rule struct {
	name, replacement string
	pattern           *regexp.Regexp
	// mask returns the n-th replacement, from 1, in the shape of the value.
	mask func(n int, value string) string
}

func rules() []rule {
	const day = `(?:\d{1,2}[./-]\d{1,2}[./-]\d{4}|\d{4}-\d{2}-\d{2})`
	return []rule{
		{"e-mail addresses", "person1@example.org", regexp.MustCompile(`([\w.+-]+@[\w-]+(?:\.[\w-]+)+)`), func(n int, _ string) string {
			return fmt.Sprintf("person%d@example.org", n)
		}},
		{"birth dates, behind such words as born, date of birth, sinh ngày", "1 January 1970, written as it was", regexp.MustCompile(`(?i:\bborn(?: on)?|date of birth|birthday|\bdob|ngày sinh|sinh ngày|\bsinh)\W{1,3}(` + day + `)`), birthday},
		{"numbers of 9 digits and more, also in groups: phones, cards, identities", "their first two digits, and a count at the end", regexp.MustCompile(`(\+?\d(?:[ .()-]{0,2}\d){8,})`), number},
		{"names, behind such words as my name is, tôi tên là, patient, bệnh nhân", "Person A", regexp.MustCompile(`(?i:my name is|i am called|tôi tên là|tên tôi là|tên em là|em tên là|\bpatient|bệnh nhân)[ :]{1,2}(\p{Lu}[\p{L}'-]+(?: \p{Lu}[\p{L}'-]+){0,4})`), person},
	}
}

func birthday(_ int, value string) string {
	if value[4] == '-' {
		return "1970-01-01"
	}
	sep := strings.Trim(value, "0123456789")[:1]
	return "01" + sep + "01" + sep + "1970"
}

// number keeps the length, the grouping and the first two digits, so that a tool that validates
// the format still accepts it.
func number(n int, value string) string {
	count := fmt.Sprint(n)
	digits := 0
	for _, r := range value {
		if unicode.IsDigit(r) {
			digits++
		}
	}
	at := 0
	return strings.Map(func(r rune) rune {
		if !unicode.IsDigit(r) {
			return r
		}
		at++
		switch left := digits - at; {
		case at <= 2:
			return r
		case left < len(count):
			return rune(count[len(count)-1-left])
		}
		return '0'
	}, value)
}

func person(n int, _ string) string {
	name := ""
	for n > 0 {
		n--
		name, n = string(rune('A'+n%26))+name, n/26
	}
	return "Person " + name
}

// MaskRules describes each kind of data and its replacement, one per line.
func MaskRules() []string {
	var lines []string
	for _, r := range rules() {
		lines = append(lines, r.name+" → "+r.replacement)
	}
	return lines
}

// A MaskedValue is a value with its replacement. Equal values have equal masks.
type MaskedValue struct{ Rule, Value, Mask string }

// A Masker collects personal data from texts and replaces it.
type Masker struct {
	rules  []rule
	values []MaskedValue
}

// NewMasker returns a masker that also replaces the given words.
func NewMasker(words []string) *Masker {
	m := &Masker{rules: rules()}
	for _, word := range words {
		if word = strings.TrimSpace(word); word != "" {
			m.learn("--mask", word, func(n int, _ string) string { return fmt.Sprintf("masked%d", n) })
		}
	}
	return m
}

// NoMasker returns a masker that replaces nothing.
func NoMasker() *Masker { return &Masker{} }

// learn adds a value of a rule, once.
func (m *Masker) learn(rule, value string, as func(int, string) string) {
	n := 1
	for _, f := range m.values {
		if f.Value == value || f.Mask == value {
			return
		}
		if f.Rule == rule {
			n++
		}
	}
	m.values = append(m.values, MaskedValue{Rule: rule, Value: value, Mask: as(n, value)})
}

// Learn collects the personal data in texts.
func (m *Masker) Learn(texts ...string) {
	for _, text := range texts {
		for _, r := range m.rules {
			for _, at := range r.pattern.FindAllStringSubmatchIndex(text, -1) {
				if !insideWord(text, at[2], at[3]) {
					m.learn(r.name, text[at[2]:at[3]], r.mask)
				}
			}
		}
	}
}

// insideWord reports whether a match is a UUID, or part of an id or a longer word.
func insideWord(text string, from, to int) bool {
	if uuid.Validate(text[from:to]) == nil {
		return true
	}
	before, _ := utf8.DecodeLastRuneInString(text[:from])
	after, _ := utf8.DecodeRuneInString(text[to:])
	part := func(r rune) bool { return r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }
	return from > 0 && part(before) || to < len(text) && part(after)
}

// Values returns the collected values.
func (m *Masker) Values() []MaskedValue { return slices.Clone(m.values) }

// Text replaces the collected values in a text, which may be JSON.
func (m *Masker) Text(text string) string {
	byLength := m.Values()
	slices.SortStableFunc(byLength, func(a, b MaskedValue) int { return len(b.Value) - len(a.Value) })
	var pairs []string
	for _, f := range byLength {
		pairs = append(pairs, f.Value, f.Mask)
		if inner := quoted(f.Value); inner != f.Value {
			pairs = append(pairs, inner, quoted(f.Mask))
		}
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// quoted returns a text as it is escaped inside a JSON string.
func quoted(text string) string {
	data, err := json.Marshal(text)
	if err != nil {
		return text
	}
	return string(data[1 : len(data)-1])
}
