package answer

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"molar/schemas"
)

// leak removes quotations of a secret from a stream of text. Text passes at once until 16 of its
// bytes agree with the secret; then it is buffered until it differs, or counts as a leak and is
// replaced. Only verbatim quotations are detected: a translation or an encoding is not.
type leak struct {
	secret *Secret
	// instead returns the text that replaces the first leak.
	instead func() string
	leaked  bool

	recent window
	at     int // the next byte of the secret, while it is being quoted
	run    int // letters quoted so far, or 0
	limit  int
	held   strings.Builder
	tail   string // the text after the last letter of held
	quoted int    // letters quoted so far in runs that were released
	out    clean
}

// newLeak returns a filter; without a secret everything passes.
func newLeak(secret *Secret, instead func() string) *leak {
	return &leak{secret: secret, instead: instead}
}

// Leaked reports whether text was removed.
func (f *leak) Leaked() bool { return f != nil && f.leaked }

// Pass returns the text that may be shown after the next piece.
func (f *leak) Pass(text string) string {
	if f == nil || f.secret == nil || f.secret.text == "" {
		return text
	}
	kept, whole := 0, f.run == 0 // text[kept:i] is not written anywhere yet
	for i, r := range text {
		if !unicode.IsLetter(r) { // digits hide no quotation, for example in a numbered list
			continue
		}
		quoting := f.run > 0
		over, leak := f.step(unicode.ToLower(r))
		switch {
		case over:
			f.tail += text[kept:i]
			f.letGo(leak)
			kept = i
		case quoting:
			f.hold(text[kept : i+utf8.RuneLen(r)])
			kept = i + utf8.RuneLen(r)
		}
		if f.run > 0 && (over || !quoting) { // buffered from this letter on
			f.out.show(text[kept:i])
			f.hold(text[i : i+utf8.RuneLen(r)])
			kept, whole = i+utf8.RuneLen(r), false
		}
		whole = whole && !over
	}
	switch {
	case f.run == 0 && whole && f.out.idle():
		f.out.last = text
		return text
	case f.run == 0:
		f.out.show(text[kept:])
	default:
		f.tail += text[kept:]
	}
	return f.out.take()
}

// hold buffers text that ends with a letter of the quotation. Text that is certainly a leak is
// dropped.
func (f *leak) hold(text string) {
	if f.run < f.limit {
		f.held.WriteString(f.tail + text)
	}
	f.tail = ""
}

// Redact removes quotations from the arguments of a call: tools and the viewers of calls must not
// get the prompt either.
func (f *leak) Redact(call *schemas.ToolCall) *schemas.ToolCall {
	if call == nil || f == nil {
		return call
	}
	args := leak{secret: f.secret, instead: f.instead, out: clean{raw: true}}
	clean := args.Pass(call.Function.Arguments)
	if clean += args.Rest(); clean == call.Function.Arguments {
		return call
	}
	redacted := *call
	redacted.Function.Arguments = clean
	return &redacted
}

// Rest ends the stream and returns the buffered text that may be shown.
func (f *leak) Rest() string {
	if f == nil {
		return ""
	}
	if f.run > 0 {
		leak := f.run >= f.limit
		f.run = 0
		f.letGo(leak)
	}
	return f.out.take() + f.out.rest()
}

// step compares one letter with the secret. It reports whether a quotation has ended, and whether
// it was a leak.
func (f *leak) step(r rune) (over, leak bool) {
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
		if f.run >= shortest { // quotations in pieces are added up
			f.quoted += f.run
		}
		f.run = 0
	}
	if at := f.secret.find(f.recent); at >= 0 {
		f.at, f.run = at+gramBytes, max(1, utf8.RuneCountInString(f.recent.String()))
		f.limit = max(shortest, f.secret.limitAt(at)-f.quoted)
		if f.leaked || leak {
			f.limit = shortest
		}
	}
	return over, leak
}

// letGo shows or cuts a quotation that has ended. The text after its last letter is not part of
// it.
func (f *leak) letGo(leak bool) {
	text, tail := f.held.String(), f.tail
	f.held.Reset()
	f.tail = ""
	switch {
	case !leak:
		f.out.show(text)
	case f.leaked:
		f.out.cut("")
	default:
		f.leaked = true
		f.out.cut(f.instead())
	}
	f.out.show(tail)
}
