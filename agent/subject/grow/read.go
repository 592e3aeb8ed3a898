package grow

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"molar/agent/subject"
	"molar/internal/text"
)

// longestLine is the length of the longest line that is kept, in characters: code is never sure of a
// longer message.
const longestLine = 300

// marks are what models put before a line although nobody asked for it.
var marks = regexp.MustCompile(`^(?:[-*•–]|\d{1,3}[.):])\s+`) //nolint:gochecknoglobals // compiled once

// readLines returns the lines of a model's answer to a batch.
func readLines(b Batch, answer, by string) []subject.Line {
	switch b.Kind {
	case FollowUps:
		return readExchanges(b, answer, by)
	case Terms:
		return readTerms(b, answer, by)
	}
	var all []subject.Line
	for raw := range strings.Lines(answer) {
		if message := clean(raw); isMessage(message, b.Lang) {
			all = append(all, b.line(message, by, b.In))
		}
	}
	return all
}

const (
	// asTerm is the weight of a term, which is no message.
	asTerm = 0.3
	// longestTerm is the number of words of the longest term.
	longestTerm = 6
)

// readTerms reads words and phrases, with commas or lines between them.
func readTerms(b Batch, answer, by string) (all []subject.Line) {
	for raw := range strings.FieldsFuncSeq(answer, func(r rune) bool { return r == ',' || r == ';' || r == '\n' }) {
		term := strings.TrimSuffix(clean(raw), ".")
		if n := len(text.Words(term)); n == 0 || n > longestTerm || strings.HasSuffix(term, ":") || strings.HasPrefix(term, "#") {
			continue
		}
		l := b.line(term, by, b.In)
		l.Weight = asTerm
		all = append(all, l)
	}
	return all
}

// line returns a line of the batch.
func (b Batch) line(message, by string, in bool) subject.Line {
	l := subject.Line{Text: message, Lang: b.Lang, Group: b.Group(), By: by}
	if b.Emergency {
		kind := b.Kind
		if kind == Harmless {
			kind = ""
		}
		l.Emergency = &kind
		return l
	}
	l.Kind, l.InDomain = b.Kind, &in
	return l
}

// readExchanges reads exchanges and what follows them.
func readExchanges(b Batch, answer, by string) (all []subject.Line) {
	var last subject.Exchange
	for raw := range strings.Lines(answer) {
		mark, rest, _ := strings.Cut(strings.TrimSpace(raw), " ")
		rest = clean(rest)
		switch strings.Trim(mark, "*") {
		case "Q:":
			last = subject.Exchange{Question: rest}
			if isMessage(rest, b.Lang) {
				all = append(all, Batch{Kind: Plain, Lang: b.Lang, Nth: b.Nth, About: FollowUps}.line(rest, by, true))
			}
		case "A:":
			last.Answer = rest
		case "+", "-":
			if last.Question == "" || last.Answer == "" || !isMessage(rest, "") { // a follow-up is too short for its language to be sure
				continue
			}
			l := b.line(rest, by, strings.Trim(mark, "*") == "+")
			l.History = []subject.Exchange{last}
			all = append(all, l)
		}
	}
	return all
}

// clean removes what does not belong to a message.
func clean(raw string) string {
	line := strings.Join(strings.Fields(raw), " ")
	line = marks.ReplaceAllString(line, "")
	for _, quotes := range []string{`""`, "“”", "''", "``"} {
		pair := []rune(quotes)
		if inner, ok := strings.CutPrefix(line, string(pair[0])); ok {
			if inner, ok = strings.CutSuffix(inner, string(pair[1])); ok {
				line = inner
			}
		}
	}
	return strings.TrimSpace(line)
}

// isMessage reports whether a line can be a message in a language: no heading, fence or comment of
// the model. An empty lang is any.
func isMessage(line, lang string) bool {
	switch {
	case line == "", utf8.RuneCountInString(line) > longestLine, len(text.Words(line)) < 2:
		return false
	case strings.HasPrefix(line, "#"), strings.HasPrefix(line, "```"), strings.HasSuffix(line, ":"), strings.HasPrefix(line, "**"):
		return false
	}
	known := []string{subject.Vietnamese, subject.English}
	if detected, sure := subject.Detect(line, ""); sure && slices.Contains(known, lang) && slices.Contains(known, detected) && detected != lang {
		return false
	}
	return true
}

// seen finds lines that say the same.
type seen map[string]bool

// isNew reports whether no line like this one was there, and remembers it.
func (s seen) isNew(l subject.Line) bool {
	k := key(l)
	if k == "" || s[k] {
		return false
	}
	s[k] = true
	return true
}

// key is equal for lines that say the same: equal words in any order, without marks, after the same
// question.
func key(l subject.Line) string {
	var words []string
	for _, w := range text.Words(l.Text) {
		words = append(words, w.Folded)
	}
	slices.Sort(words)
	k := strings.Join(slices.Compact(words), " ")
	if n := len(l.History); n > 0 { // the same words follow many things
		k += "\n" + l.History[n-1].Question
	}
	return k
}
