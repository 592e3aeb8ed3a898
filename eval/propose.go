package eval

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"molar/eval/match"
	"molar/eval/tape"
	"molar/internal/text"
)

// A Proposal is a check of an answer that a recording suggests, because the answer has a text or
// number of a tool's result. It passes on that recording.
type Proposal struct {
	Turn  int // from 0
	Check Check
	// From names the call that returned it, such as "call 2, family__search".
	From string
}

// String returns the check as it stands in a case, and where it comes from.
func (p Proposal) String() string {
	if p.Check.Number != nil {
		return fmt.Sprintf("number: %s  (%s)", strconv.FormatFloat(*p.Check.Number, 'f', -1, 64), p.From)
	}
	return fmt.Sprintf("contains: %s  (%s)", p.Check.Contains, p.From)
}

// maxCompared bounds the texts that are compared, in bytes.
const maxCompared = 32 << 10

// MaxProposals is the maximum number of proposals for a turn.
const MaxProposals = 10

// Propose returns checks for the answers of a recording: what each took verbatim from the results
// of the calls up to it, in the order of the calls. These are, the best first, whole values of a
// result and tokens with digits; parts of a text between punctuation, such as the cells of a table;
// and the longest phrases that are rare in the result. What the question has is left out, as is what says
// little, such as single digits.
func Propose(turns []tape.Turn) []Proposal {
	var all []Proposal
	for i := range turns {
		p := proposer{question: strings.ToLower(turns[i].User), answer: withoutMarks(text.Clip(turns[i].Answer, maxCompared, ""))}
		p.numbers = numbersIn(p.answer)
		var names []string
		for _, t := range turns[:i+1] {
			for _, c := range t.Calls {
				name := strings.Join(strings.Fields(Clean(c.Call.Function.Name)), " ") // it goes into a comment
				names = append(names, fmt.Sprintf("call %d, %s", len(names)+1, name))
				if p.call = len(names); c.Done && !c.IsError {
					p.result(c.Output)
				}
			}
		}
		for _, c := range p.best() {
			all = append(all, Proposal{Turn: i, Check: c.check, From: names[c.call-1]})
		}
	}
	return all
}

// withoutMarks replaces the marks of redacted secrets by line ends, so that no part of a mark is
// proposed.
func withoutMarks(s string) string {
	return regexp.MustCompile(`\[REDACTED:[^\]]*\]`).ReplaceAllString(s, "\n")
}

// A candidate is a check that may be proposed.
type candidate struct {
	check Check
	text  string // in the answer
	at    int    // its place in the answer
	call  int
	rank  int
}

// The ranks of candidates, the best first.
const (
	rankValue  = iota // a whole value, or a token with digits
	rankPart          // a part of a text between punctuation
	rankPhrase        // words that stand together in the result, too
)

// A proposer collects candidates for one answer.
type proposer struct {
	question, answer string
	numbers          []figure // in the answer
	call             int
	found            []candidate
}

// best returns the candidates to propose: none whose text is part of another's, at most
// [MaxProposals], and of phrases the longest, in the order of the calls and of the answer.
func (p *proposer) best() []candidate {
	const mostPhrases = 3
	place := func(a, b candidate) int { return cmp.Or(cmp.Compare(a.call, b.call), cmp.Compare(a.at, b.at)) }
	slices.SortFunc(p.found, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(len(b.text), len(a.text)), place(a, b), cmp.Compare(a.rank, b.rank))
	})
	var kept []candidate
	phrases := 0
	for _, c := range p.found {
		switch {
		case slices.ContainsFunc(kept, func(k candidate) bool { return strings.Contains(k.text, c.text) }):
			continue
		case c.rank == rankPhrase:
			if phrases++; phrases > mostPhrases {
				continue
			}
		}
		kept = append(kept, c)
	}
	slices.SortFunc(kept, func(a, b candidate) int { return cmp.Or(cmp.Compare(a.rank, b.rank), place(a, b)) })
	kept = kept[:min(len(kept), MaxProposals)]
	slices.SortFunc(kept, place)
	return kept
}

// result adds what the answer has of a result.
func (p *proposer) result(output json.RawMessage) {
	v, err := match.Decode(output)
	if err != nil {
		v = string(output)
	}
	var rest []string
	p.value(v, &rest)
	p.phrases(text.Clip(strings.Join(rest, "\n"), maxCompared, ""))
}

// value adds the scalars of a JSON value. Texts that the answer does not have as a whole are
// appended to rest.
func (p *proposer) value(v any, rest *[]string) {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			p.value(v[name], rest)
		}
	case []any:
		for _, item := range v {
			p.value(item, rest)
		}
	case json.Number:
		if f, err := v.Float64(); err == nil && !p.verbatim(v.String(), rankValue) {
			p.number(v.String(), []float64{f})
		}
	case string:
		whole := strings.TrimSpace(withoutMarks(v))
		if inner, err := match.Decode([]byte(whole)); err == nil {
			if _, scalar := inner.(string); !scalar { // a result that is JSON in a text
				p.value(inner, rest)
				return
			}
		}
		if p.verbatim(whole, rankValue) {
			return
		}
		part := text.Clip(whole, maxCompared, "")
		*rest = append(*rest, part)
		for _, cell := range parts(part) {
			p.verbatim(cell, rankPart)
		}
		for _, n := range numbersIn(part) {
			if placeOf(p.answer, n.text) < 0 {
				p.number(n.text, n.values)
			}
		}
	}
}

// verbatim adds a text of a result that is short and that the answer has as whole words. It reports
// whether the answer has it, even if it says too little to be added.
func (p *proposer) verbatim(text string, rank int) bool {
	const most, words = 80, 8
	if text == "" || utf8.RuneCountInString(text) > most || strings.Contains(text, "\n") || len(strings.Fields(text)) > words {
		return false
	}
	at := placeOf(p.answer, text)
	if at >= 0 {
		if strings.IndexFunc(text, unicode.IsDigit) >= 0 && len(strings.Fields(text)) == 1 {
			rank = rankValue
		}
		p.add(candidate{check: Check{Contains: text}, text: text, at: at, rank: rank})
	}
	return at >= 0
}

// number adds a number of a result that the answer writes in another way.
func (p *proposer) number(text string, values []float64) {
	if len(values) == 0 || digits(text) < 2 {
		return
	}
	for _, n := range p.numbers {
		for _, f := range n.values {
			if !slices.Contains(values, f) {
				continue
			}
			c := candidate{check: Check{Contains: n.text}, text: n.text, at: n.at}
			if containsNumber(p.answer, f, 0, 0) {
				c.check = Check{Number: &f}
			}
			p.add(c)
			return
		}
	}
}

// add adds a candidate unless the question has it or it says little.
func (p *proposer) add(c candidate) {
	letters := 0
	for _, r := range c.text {
		if unicode.IsLetter(r) {
			letters++
		}
	}
	if letters+digits(c.text) < 2 || Clean(c.text) != c.text || strings.ContainsAny(c.text, "\n\t\u2028\u2029") || placeOf(p.question, strings.ToLower(c.text)) >= 0 {
		return
	}
	c.call = p.call
	p.found = append(p.found, c)
}

// phrases adds what the answer has in common with a text: tokens with digits, and phrases of several
// words.
func (p *proposer) phrases(text string) {
	counts := make(map[string]int)
	for _, w := range words(text) {
		counts[text[w.from:w.to]]++
	}
	all := words(p.answer)
	for i := 0; i < len(all); {
		n := 0 // the number of words from here that stand in the text in the same way
		for i+n < len(all) && counts[p.answer[all[i+n].from:all[i+n].to]] > 0 && (n == 0 || joined(p.answer[all[i+n-1].to:all[i+n].from]) &&
			placeOf(text, p.answer[all[i].from:all[i+n].to]) >= 0) {
			n++
		}
		p.run(counts, all[i:i+n])
		i += max(n, 1)
	}
}

// run adds the tokens with digits of a run of words, and the phrases between them. Words at the ends of a
// phrase that the text has often, by counts, say little.
func (p *proposer) run(counts map[string]int, run []span) {
	const rare, fewest, longest = 2, 3, 12
	shown := func(part []span) string { return p.answer[part[0].from:part[len(part)-1].to] }
	var phrase []span
	flush := func() {
		for len(phrase) > 0 && counts[shown(phrase[:1])] > rare {
			phrase = phrase[1:]
		}
		for len(phrase) > 0 && counts[shown(phrase[len(phrase)-1:])] > rare {
			phrase = phrase[:len(phrase)-1]
		}
		if n := len(phrase); n > 1 && n <= longest && (n >= fewest || strings.Contains(shown(phrase), " ")) {
			p.add(candidate{check: Check{Contains: shown(phrase)}, text: shown(phrase), at: phrase[0].from, rank: rankPhrase})
		}
		phrase = nil
	}
	for len(run) > 0 {
		n := 1 // the words of a token, which has no space
		for n < len(run) && !strings.Contains(p.answer[run[n-1].to:run[n].from], " ") {
			n++
		}
		token := run[:n]
		run = run[n:]
		switch {
		case digits(shown(token)) == 0:
			phrase = append(phrase, token...)
			continue
		case n > longest: // a sentence of a script without spaces
			for i := range token {
				if t := shown(token[i : i+1]); digits(t) > 1 {
					p.add(candidate{check: Check{Contains: t}, text: t, at: token[i].from})
				}
			}
		case digits(shown(token)) > 1:
			p.add(candidate{check: Check{Contains: shown(token)}, text: shown(token), at: token[0].from})
		}
		flush()
	}
	flush()
}

// A span is a part of a text, in bytes.
type span struct{ from, to int }

// words returns the words of a text, each character of a script without spaces as one. A number with
// separators, such as a date, is one word.
func words(s string) []span {
	var all []span
	from := -1
	for i, r := range s + " " {
		if from >= 0 && boundary(s, i) {
			all, from = append(all, span{from, i}), -1
		}
		if from < 0 && isWord(r) {
			from = i
		}
	}
	return all
}

// joined reports whether two words with this text between them are one token or phrase.
func joined(between string) bool {
	return between == "" || between == " " || utf8.RuneCountInString(between) == 1 && strings.ContainsAny(between, "-_.'’/@+&")
}

// parts returns the parts of a text between line ends and punctuation that is not inside a word.
func parts(s string) []string {
	var all []string
	from := 0
	cut := func(i, n int) {
		if part := strings.TrimSpace(s[from:i]); part != "" && part != strings.TrimSpace(s) {
			all = append(all, part)
		}
		from = i + n
	}
	for i, r := range s {
		n := utf8.RuneLen(r)
		if r != '\n' && r != '\t' && !unicode.IsPunct(r) && !unicode.IsSymbol(r) {
			continue
		}
		before, _ := utf8.DecodeLastRuneInString(s[:i])
		after, _ := utf8.DecodeRuneInString(s[min(i+max(n, 1), len(s)):])
		inNumber := unicode.IsDigit(before) && unicode.IsDigit(after)
		inWord := isWord(before) && isWord(after) && !isSpaceless(before) && !isSpaceless(after) && !strings.ContainsRune(",;|:=", r)
		inAddress := strings.ContainsRune(":/", r) && (after == '/' || before == '/')
		if !inNumber && !inWord && !inAddress {
			cut(i, max(n, 1))
		}
	}
	cut(len(s), 0)
	return all
}

// placeOf returns the place of a text in s where it is not a part of a longer word or number, or -1.
func placeOf(s, text string) int {
	for from := 0; text != ""; {
		at := strings.Index(s[from:], text)
		if at < 0 {
			return -1
		}
		if at += from; boundary(s, at) && boundary(s, at+len(text)) {
			return at
		}
		from = at + 1
	}
	return -1
}

// boundary reports whether no word and no number goes over a place in s.
func boundary(s string, at int) bool {
	before, size := utf8.DecodeLastRuneInString(s[:at])
	after, next := utf8.DecodeRuneInString(s[at:])
	separates := func(r rune) bool { return strings.ContainsRune(separators+":/-", r) }
	digitAt := func(s string, decode func(string) (rune, int)) bool { r, _ := decode(s); return unicode.IsDigit(r) }
	switch {
	case isWord(before) && isWord(after):
		return isSpaceless(before) || isSpaceless(after)
	case unicode.IsDigit(before) && separates(after):
		return !digitAt(s[at+next:], utf8.DecodeRuneInString)
	case unicode.IsDigit(after) && separates(before):
		return !digitAt(s[:at-size], utf8.DecodeLastRuneInString)
	}
	return true
}

func isWord(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.M, r)
}

// isSpaceless reports whether a character belongs to a script that is written without spaces
// between words.
func isSpaceless(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// digits returns the number of decimal digits in a text, of any script.
func digits(s string) (n int) {
	for _, r := range s {
		if unicode.IsDigit(r) {
			n++
		}
	}
	return n
}

// separators stand inside numbers: before decimals or between groups of digits. Only the last, which
// are spaces, the apostrophes and the Arabic thousands separator never stand before decimals.
const separators = ".,٫" + groupSeparators

const groupSeparators = "٬'’\u00a0\u2009\u202f"

// A figure is a number in a text, with the values that it may have.
type figure struct {
	text   string
	at     int
	values []float64
}

// numbersIn returns the numbers in a text, in any digits, that are not a part of a word or date.
func numbersIn(s string) []figure {
	var all []figure
	for _, at := range regexp.MustCompile(`\p{Nd}+(?:[`+separators+`]\p{Nd}+)*`).FindAllStringIndex(s, -1) {
		if text := s[at[0]:at[1]]; boundary(s, at[0]) && boundary(s, at[1]) {
			all = append(all, figure{text, at[0], readings(text)})
		}
	}
	return all
}

// readings returns the values that a number with separators may have: 1.234 is 1234 in one country and a
// little more than one in another.
func readings(s string) []float64 {
	var plain strings.Builder // in ASCII digits, with the separators
	var marks []rune
	for _, r := range s {
		if unicode.IsDigit(r) {
			plain.WriteRune('0' + digit(r))
			continue
		}
		marks = append(marks, r)
		plain.WriteRune(' ')
	}
	groups := strings.Split(plain.String(), " ")
	last := len(groups) - 1
	var values []float64
	add := func(text string) {
		if f, err := strconv.ParseFloat(text, 64); err == nil {
			values = append(values, f)
		}
	}
	if last == 0 {
		add(groups[0])
		return values
	}
	if grouped(groups, marks) {
		add(strings.Join(groups, ""))
	}
	if decimal := marks[last-1]; !strings.ContainsRune(groupSeparators, decimal) && !slices.Contains(marks[:last-1], decimal) && grouped(groups[:last], marks[:last-1]) {
		add(strings.Join(groups[:last], "") + "." + groups[last])
	}
	return values
}

// grouped reports whether these are the groups of one whole number: equal separators, and two or three
// digits in each group but the first, three in the last.
func grouped(groups []string, marks []rune) bool {
	for i, g := range groups[1:] {
		if marks[i] != marks[0] || marks[i] == '٫' || len(g) != 3 && (len(g) != 2 || i == len(groups)-2) {
			return false
		}
	}
	return len(groups) == 1 || len(groups[0]) <= 3
}

// digit returns the value of a decimal digit. The digits of a script are in one block, from zero.
func digit(r rune) rune {
	zero := r
	for r-zero < 9 && unicode.IsDigit(zero-1) {
		zero--
	}
	return r - zero
}
