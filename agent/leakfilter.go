package agent

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"molar/schemas"
)

// A leakFilter keeps quotations of a secret out of a stream of text. Text passes at
// once until it has agreed with the secret for gramBytes; from there on it is held
// until it goes another way, or is a leak and replaced. Only word-for-word
// quotations are seen: a translation or a code is not.
type leakFilter struct {
	secret *secret
	// instead gives what stands for the text that was left out, once.
	instead func() string
	leaked  bool

	recent window
	at     int // the next byte of the secret, while one is being quoted
	run    int // letters quoted so far, 0 when none
	limit  int
	held   strings.Builder
	tail   string // what stands behind its last letter
}

// pass returns what may be shown of the next piece of text.
func (f *leakFilter) pass(text string) string {
	if f.secret == nil || f.secret.text == "" {
		return text
	}
	var out strings.Builder
	kept, whole := 0, f.run == 0 // text[kept:i] is written nowhere yet
	for i, r := range text {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			continue
		}
		quoting := f.run > 0
		over, leak := f.step(unicode.ToLower(r))
		switch {
		case over:
			f.tail += text[kept:i]
			out.WriteString(f.letGo(leak))
			kept = i
		case quoting:
			f.hold(text[kept : i+utf8.RuneLen(r)])
			kept = i + utf8.RuneLen(r)
		}
		if f.run > 0 && (over || !quoting) { // held from this letter on
			out.WriteString(text[kept:i])
			f.hold(text[i : i+utf8.RuneLen(r)])
			kept, whole = i+utf8.RuneLen(r), false
		}
		whole = whole && !over
	}
	switch {
	case f.run == 0 && whole:
		return text
	case f.run == 0:
		out.WriteString(text[kept:])
	default:
		f.tail += text[kept:]
	}
	return out.String()
}

// hold keeps text up to and with a letter of the quotation. Of a leak nothing need be
// kept.
func (f *leakFilter) hold(text string) {
	if f.run < f.limit {
		f.held.WriteString(f.tail + text)
	}
	f.tail = ""
}

// redact takes quotations out of the arguments of a call: tools and those who watch
// their calls have no business with the prompt either.
func (f *leakFilter) redact(call *schemas.ToolCall) *schemas.ToolCall {
	if call == nil {
		return nil
	}
	args := leakFilter{secret: f.secret, instead: f.instead}
	clean := args.pass(call.Function.Arguments)
	if clean += args.rest(); clean == call.Function.Arguments {
		return call
	}
	redacted := *call
	redacted.Function.Arguments = clean
	return &redacted
}

// rest ends the stream and returns what may be shown of what is held.
func (f *leakFilter) rest() string {
	if f.run == 0 {
		return ""
	}
	leak := f.run >= f.limit
	f.run = 0
	return f.letGo(leak)
}

// step compares one letter with the secret. It says whether a quotation is over, and
// whether it was a leak.
func (f *leakFilter) step(r rune) (over, leak bool) {
	var buf [utf8.UTFMax]byte
	letter := utf8.AppendRune(buf[:0], r)
	for _, b := range letter {
		f.recent = f.recent.push(b)
	}
	if f.run > 0 {
		if strings.HasPrefix(f.secret.text[f.at:], string(letter)) {
			f.at += len(letter)
			f.run++
			return false, false
		}
		over, leak = true, f.run >= f.limit
		f.run = 0
	}
	if at := f.secret.find(f.recent); at >= 0 {
		f.at, f.run = at+gramBytes, max(1, utf8.RuneCountInString(f.recent.String()))
		f.limit = f.secret.limitAt(at)
		if f.leaked || leak {
			f.limit = shortest
		}
	}
	return over, leak
}

// letGo decides about a quotation that is over. What stands behind its last letter is
// no part of it.
func (f *leakFilter) letGo(leak bool) string {
	text, tail := f.held.String(), f.tail
	f.held.Reset()
	f.tail = ""
	switch {
	case !leak:
		return text + tail
	case f.leaked:
		return tail
	}
	f.leaked = true
	return f.instead() + tail
}
