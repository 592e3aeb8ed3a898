package eval

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"molar/eval/match"
	"molar/eval/tape"
)

// A Proposal is a check of an answer that a recording suggests, because the answer has a text or
// number of a tool's result. It passes on that recording.
type Proposal struct {
	Turn  int // from 0
	Check Check
	// From names the call that returned it, such as "call 2, family__search".
	From string

	call int
	text string // in the answer
}

// String returns the check as it stands in a case, and where it comes from.
func (p Proposal) String() string {
	if p.Check.Number != nil {
		return fmt.Sprintf("number: %s  (%s)", strconv.FormatFloat(*p.Check.Number, 'f', -1, 64), p.From)
	}
	return fmt.Sprintf("contains: %s  (%s)", p.Check.Contains, p.From)
}

// MaxProposals is the maximum number of proposals for a turn.
const MaxProposals = 10

const (
	maxWords  = 4 << 10 // of an answer, and of each text of a result: the rest is left out
	mostWords = 12      // of a proposal
)

// Propose returns checks for the answers of a recording, in the order of the calls: the numbers, ids
// and names of each answer that stand in the results of the calls up to it. What the question has is
// left out.
//
// What the results say goes into a table, see [said]. Each answer is then read from left to right: at
// each word the longest text of the table that stands there is proposed.
func Propose(turns []tape.Turn) []Proposal {
	var all []Proposal
	results, calls := make(said), 0
	for i, t := range turns {
		for _, c := range t.Calls {
			calls++
			if !c.Done || c.IsError {
				continue
			}
			v, err := match.Decode(c.Output)
			if err != nil {
				v = string(c.Output)
			}
			name := strings.Join(strings.Fields(Clean(c.Call.Function.Name)), " ") // it goes into a comment
			results.value(v, source{call: calls, name: fmt.Sprintf("call %d, %s", calls, name)})
		}
		for _, p := range results.repeated(t) {
			p.Turn = i
			all = append(all, p)
		}
	}
	return all
}

// said has what results say and an answer may repeat: texts from their first word to their last, and
// numbers as float64, which may be written in another way. Each has its first source.
type said map[any]source

type source struct {
	call  int
	name  string // such as "call 2, family__search"
	whole string // the text with what stands around its words, such as brackets
}

func (s said) add(key any, from source) {
	if _, known := s[key]; !known {
		s[key] = from
	}
}

// value adds what a result says.
func (s said) value(v any, from source) {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			s.value(v[name], from)
		}
	case []any:
		for _, item := range v {
			s.value(item, from)
		}
	case json.Number:
		from.whole = v.String()
		if f, err := v.Float64(); err == nil && isData(from.whole) {
			s.add(strings.TrimPrefix(from.whole, "-"), from) // the sign is not a part of the word
			s.add(math.Abs(f), from)
		}
	case string:
		inner, err := match.Decode([]byte(v))
		if _, isText := inner.(string); err == nil && !isText {
			s.value(inner, from) // JSON in a text
			return
		}
		between := func(r rune) bool { return r == '\n' || r == '\t' || r == '|' }
		for _, cell := range strings.FieldsFunc(compared(v), between) {
			s.text(cell, from)
		}
	}
}

// text adds a value, line or cell of a table: as a whole if it is short; its numbers, dates and ids; and
// its names, which are words that stand together, none of them ordinary.
func (s said) text(text string, from source) {
	at := words(text)
	if n := len(at); n > 0 && n <= mostWords && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsGraphic(r) }) {
		from.whole = strings.TrimPrefix(strings.Trim(text, " .,:;*#"), "- ")
		if inner := text[at[0][0]:at[n-1][1]]; utf8.RuneCountInString(inner) > 1 {
			s.add(inner, from)
		}
	}
	for i, first := range at {
		end := first[0]
		for n, w := range at[i:min(i+mostWords, len(at))] {
			if gap := text[end:w[0]]; gap != "" && gap != " " || ordinary(text[w[0]:w[1]]) {
				break
			}
			end = w[1]
			run := text[first[0]:end]
			from.whole = run
			if n == 0 && isData(run) || n > 0 && utf8.RuneCountInString(run) > 2 {
				s.add(run, from)
			}
			if n == 0 {
				for _, f := range readings(run) {
					s.add(f, from)
				}
			}
		}
	}
}

// repeated returns what an answer has of the results and its question has not, but nothing that is a
// part of another proposal.
func (s said) repeated(t tape.Turn) []Proposal {
	var all []Proposal
	asked, answer := plainWords(t.User), compared(t.Answer)
	for at := words(answer); len(at) > 0; {
		n, p := s.longest(answer, at)
		at = at[max(n, 1):]
		isPart := func(other Proposal) bool { return strings.Contains(other.text, p.text) }
		hasPart := func(other Proposal) bool { return strings.Contains(p.text, other.text) }
		if n > 0 && !strings.Contains(asked, plainWords(p.text)) && !slices.ContainsFunc(all, isPart) {
			all = append(slices.DeleteFunc(all, hasPart), p)
		}
	}
	slices.SortStableFunc(all, func(a, b Proposal) int { return cmp.Compare(a.call, b.call) })
	return all[:min(len(all), MaxProposals)]
}

// longest returns the longest proposal that begins with the first of the words at these places, and its
// number of words, or 0.
func (s said) longest(answer string, at [][]int) (int, Proposal) {
	for n := min(len(at), mostWords); n > 0; n-- {
		text := answer[at[0][0]:at[n-1][1]]
		if from, ok := s[text]; ok {
			if strings.Contains(answer, from.whole) {
				text = from.whole
			}
			return n, Proposal{Check: Check{Contains: text}, From: from.name, call: from.call, text: text}
		}
	}
	word := answer[at[0][0]:at[0][1]]
	for _, f := range readings(word) {
		if from, ok := s[f]; ok {
			check := Check{Contains: word}
			if containsNumber(answer, f, 0, 0) {
				check = Check{Number: &f} // the next answer may write it in another way
			}
			return 1, Proposal{Check: check, From: from.name, call: from.call, text: word}
		}
	}
	return 0, Proposal{}
}

var secretMark = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\[REDACTED:[^\]\n]*\]?`) })

// compared returns what is compared of a text: marks of redacted secrets and broken characters become
// NUL, which no proposal contains.
func compared(s string) string {
	return secretMark().ReplaceAllString(strings.ToValidUTF8(s, "\x00"), "\x00")
}

// wordForm matches a word. A number with separators, a date, an address and what a hyphen joins are one
// word each, and so is each character of a script that has no spaces between words.
var wordForm = sync.OnceValue(func() *regexp.Regexp {
	const spaceless = `\p{Han}\p{Hiragana}\p{Katakana}ー\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}`
	const part = `(?:\p{Nd}+(?:[,:` + separators + `]\p{Nd}+)*|[^\P{L}` + spaceless + `]|\p{M})+`
	return regexp.MustCompile(part + `(?:[-_./'’@+&]` + part + `)*|[` + spaceless + `]\p{M}*`)
})

// words returns the places of the words of a text.
func words(s string) [][]int { return wordForm().FindAllStringIndex(s, maxWords) }

// plainWords returns the words of a text in lower case, with a space around each.
func plainWords(s string) string {
	return " " + strings.ToLower(strings.Join(wordForm().FindAllString(s, -1), " ")) + " "
}

// isData reports whether a word is a number, date, id or address: it has two digits, or @ or _.
func isData(word string) bool {
	return strings.IndexFunc(word, unicode.IsDigit) != strings.LastIndexFunc(word, unicode.IsDigit) || strings.ContainsAny(word, "@_")
}

// ordinary reports whether a word is hardly a part of a name: it begins with a small letter, or is in a
// script that shows neither names nor the ends of words.
func ordinary(word string) bool {
	r, _ := utf8.DecodeRuneInString(word)
	plain := unicode.IsLower(r) || unicode.In(r, unicode.Hiragana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
	return plain && !isData(word)
}

// separators stand inside numbers, between groups of digits or before decimals.
const separators = ".,٫٬'’\u00a0\u2009\u202f"

var grouped = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:\d+|\d{1,3}(?:,\d{2,3})*,\d{3})$`) })

// readings returns the values that a number of two or more digits of any script may have: 1.234 is 1234
// in one country and a little more than one in another. Other words, such as dates, have none.
func readings(word string) []float64 {
	if !isData(word) {
		return nil
	}
	s := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsDigit(r):
			return '0' + digit(r)
		case strings.ContainsRune(separators, r):
			return ','
		}
		return r
	}, word)
	var values []float64
	read := func(whole, decimals string) {
		f, err := strconv.ParseFloat(strings.ReplaceAll(whole, ",", "")+"."+decimals, 64)
		if err == nil && grouped().MatchString(whole) {
			values = append(values, f)
		}
	}
	read(s, "")
	if i := strings.LastIndex(s, ","); i > 0 {
		read(s[:i], s[i+1:])
	}
	return values
}

// digit returns the value of a decimal digit. The digits of a script are in one block, from zero.
func digit(r rune) rune {
	zero := r
	for r-zero < 9 && unicode.IsDigit(zero-1) {
		zero--
	}
	return r - zero
}
