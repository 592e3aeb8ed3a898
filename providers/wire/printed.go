package wire

import (
	"bytes"
	"errors"
	"strings"

	"molar/providers"
	"molar/schemas"
)

const (
	// maxPrefix bounds how much of a beginning is examined each time more text comes, in bytes.
	maxPrefix = 256
	// maxHeld bounds the text held back as a possible call, in bytes.
	maxHeld = 16 << 10
)

var (
	// ErrBrokenCall means that the model printed a call that cannot be read.
	ErrBrokenCall = errors.New("the model wrote a tool call as text, and it cannot be read: ask again, or use a model or a server that returns calls by the API (for vLLM and llama.cpp, a parser of the model's tool calls)")
	// errCutCall means that the model reached its limit within a printed call.
	errCutCall = errors.New("a call that the model printed as text was dropped: the answer reached its limit within it")
)

// Printed returns the maker of readers of a request's answer, in which calls to the tools of the
// set may be printed.
//
// It holds back what may be a call: a frame from its beginning on, or the whole answer while that
// may be nothing but a call without a tag; and blanks, which alone are no answer. A frame counts
// outside of code blocks only, and if it names an offered tool. If the client asked for JSON, no
// text is taken for a call.
func Printed(set ToolSet, req providers.Request) func() Reader {
	if len(req.Schema) > 0 {
		return func() Reader { return &printed{open: true} }
	}
	frames, alone := tagged(), whole()
	return func() Reader { return &printed{set: set, frames: frames, alone: alone, first: true} }
}

type printed struct {
	set           ToolSet
	frames, alone []frame

	lead  []byte // blanks before the answer
	held  []byte // neither shown nor read
	open  bool   // text passes unheld
	first bool   // the answer may be a call without a tag
	begun bool   // text was shown
	code  codeblocks

	frame  *frame // the frame that begins the held text
	inline bool   // words precede it in its line
	waits  bool   // it was read, and what follows it matters
	after  bool   // only blanks and ends of frames came since a frame
	broken bool   // a call cannot be read

	calls []schemas.FunctionCall
	taken []byte // the text of the calls
}

// Take reads a piece and returns the text to show now.
func (r *printed) Take(piece string) (string, error) {
	if r.open || piece == "" {
		return piece, nil
	}
	if r.begun && r.frame == nil && !r.after && !r.broken && len(r.held) == 0 && strings.IndexByte(piece, '<') < 0 && strings.IndexByte(piece, '[') < 0 {
		r.code.passAll(piece)
		return piece, nil
	}
	r.held = append(r.held, piece...)
	return string(r.read(len(piece), false)), nil
}

// End reads the rest.
func (r *printed) End(cut bool) (text string, calls []schemas.FunctionCall, err error) {
	if r.open {
		return "", nil, nil
	}
	if r.first {
		if calls := ReadPrinted(string(r.held), r.set); r.offered(calls) && r.fit(calls) {
			return "", calls, nil
		}
		r.first = false
	}
	text = string(r.read(0, true))
	calls = r.calls
	switch {
	case r.broken, r.frame != nil && !cut:
		calls, err = nil, ErrBrokenCall
	case r.frame != nil:
		err = errCutCall
	case len(calls) == 0:
		text += r.Rest()
	}
	r.taken, r.held, r.open = nil, nil, true // no part of a call is shown
	return text, calls, err
}

// Rest returns the text that was not shown, and stops looking for calls.
func (r *printed) Rest() string {
	text := string(r.taken) + string(r.lead) + string(r.held)
	r.taken, r.lead, r.held, r.calls, r.open = nil, nil, nil, nil, true
	if strings.Trim(text, blanks) == "" {
		return ""
	}
	return text
}

// read reads what is held, of which the last n bytes are new, and returns what to show.
func (r *printed) read(n int, last bool) (out []byte) {
	for len(r.held) > 0 && !r.broken {
		switch {
		case len(r.lead)+len(r.held) > maxHeld && (r.frame != nil || r.first || !r.begun):
			return append(out, r.Rest()...)
		case r.frame != nil:
			if !r.try(n, last, &out) {
				return out
			}
		case r.first:
			start := bytes.TrimLeft(r.held, blanks)
			if len(start) == 0 || len(r.set) > 0 && r.mayBeWhole(string(start[:min(len(start), maxPrefix)])) {
				return out
			}
			r.first = false
		case !r.find(last, &out):
			return out
		}
	}
	if r.broken {
		r.held = nil
	}
	return out
}

// mayBeWhole reports whether text may be the beginning of an answer that is a call without a tag.
func (r *printed) mayBeWhole(text string) bool {
	text = strings.TrimSuffix(strings.ReplaceAll(text, "\r\n", "\n"), "\r")
	for _, f := range r.alone {
		if strings.HasPrefix(f.open, text) {
			return true
		}
		if inner, framed := strings.CutPrefix(text, f.open); framed {
			return r.mayBegin(inner, f.items...)
		}
	}
	return r.mayBegin(text, jsonCalls, pythonCalls)
}

// mayBegin reports whether text may be the beginning of an item.
func (r *printed) mayBegin(text string, items ...item) bool {
	c := cursor{text: text, set: r.set}
	c.trim(blanks)
	if mayBeValue(c.text) {
		return true
	}
	c.choose(items...)
	return c.state != wrong
}

// find passes text up to the beginning of a frame. It reports whether it found one.
func (r *printed) find(last bool, out *[]byte) bool {
	if r.after && !r.skip(last) {
		return false
	}
	if !r.begun {
		n := len(r.held) - len(bytes.TrimLeft(r.held, blanks))
		r.lead = append(r.lead, r.held[:n]...)
		r.drop(n)
	}
	for i, c := range r.held {
		if (c == '<' || c == '[') && len(r.set) > 0 && !r.code.is(c) {
			if f, may := r.opens(r.held[i:]); f != nil || may && !last {
				r.inline = r.code.words
				r.show(i, out)
				r.frame, r.waits = f, false
				return f != nil
			}
		}
		r.code.pass(c)
	}
	r.show(len(r.held), out)
	return false
}

// skip takes blanks and ends of frames after a frame. It returns false if what is left may be
// the beginning of such an end.
func (r *printed) skip(last bool) bool {
	for {
		rest := bytes.TrimLeft(r.held, blanks)
		n := len(r.held) - len(rest)
		for _, f := range r.frames {
			for _, end := range f.closers {
				switch {
				case bytes.HasPrefix(rest, []byte(end)):
					n = max(n, len(r.held)-len(rest)+len(end))
				case !last && strings.HasPrefix(end, string(rest)):
					return false
				}
			}
		}
		if n == 0 {
			return true
		}
		r.taken = append(r.taken, r.held[:n]...)
		r.drop(n)
	}
}

// try reads the frame that begins the held text, the last n bytes of which are new. It reports
// whether the frame is dealt with.
func (r *printed) try(n int, last bool, out *[]byte) bool {
	ended := r.ends(n)
	if !last && !ended && !r.waits && len(r.held) > maxPrefix {
		return false
	}
	c := cursor{text: string(r.held), set: r.set, last: last}
	r.frame.read(&c)
	body := string(r.held[len(r.frame.open):])
	switch {
	case c.state == reading:
		return r.take(c, last, out)
	case c.state == short && !last:
		return false
	case c.state == wrong && !last && !ended && isStructure(body):
		return false // a call with a mistake names its tool further on
	case !r.isCall(c, body):
		r.pass(1, out)
		return true
	case c.state == wrong:
		r.broken, r.frame = true, nil
	}
	return false
}

// ends reports whether the end of the frame is in the held text, the last n bytes of which are new.
func (r *printed) ends(n int) bool {
	for _, end := range r.frame.closers {
		from := max(len(r.frame.open), len(r.held)-n-len(end))
		if bytes.Contains(r.held[min(from, len(r.held)):], []byte(end)) {
			return true
		}
	}
	return false
}

// take takes the calls of a frame that was read. Within a line, with words before and after it,
// and if it names another tool, the frame is text.
func (r *printed) take(c cursor, last bool, out *[]byte) bool {
	n := len(r.held) - len(c.text)
	next := firstOf(strings.TrimLeft(c.text, " \t"))
	switch {
	case !r.offered(c.calls), len(r.calls)+len(c.calls) > maxPrinted, r.inline && next > 0 && strings.IndexByte("\r\n<", next) < 0:
		r.pass(n, out)
		return true
	case r.inline && next == 0 && !last:
		r.waits = true
		return false
	}
	r.calls = append(r.calls, c.calls...)
	r.taken = append(append(r.taken, r.lead...), r.held[:n]...)
	r.drop(n)
	r.lead, r.frame, r.after = nil, nil, true
	return true
}

// isCall reports whether a frame that cannot be read is a call nevertheless: it names an offered
// tool, or ends before it names one.
func (r *printed) isCall(c cursor, body string) bool {
	offered := r.set.Resolve(c.name) != nil
	if c.state == short && c.name != "" || offered && c.sure {
		return offered
	}
	if c.state == wrong && !isStructure(body) {
		return false
	}
	for _, end := range r.frame.closers {
		body, _, _ = strings.Cut(body, end)
	}
	for _, t := range r.set {
		if hasWord(body, t.Info.Name) || hasWord(body, t.Info.ToolName) {
			return true
		}
	}
	if c.state == wrong || strings.Contains(body, `"name"`) {
		return false
	}
	return strings.Trim(body, blanks) != "" || !r.begun
}

// isStructure reports whether the inside of a frame does not begin like prose.
func isStructure(body string) bool {
	body = strings.TrimLeft(body, blanks)
	return body != "" && strings.IndexByte("{[<", body[0]) >= 0
}

// hasWord reports whether a name is a word of the text.
func hasWord(text, name string) bool {
	for from := 0; name != ""; {
		i := strings.Index(text[from:], name)
		if i < 0 {
			break
		}
		i, from = from+i, from+i+len(name)
		if (i == 0 || !isNameRune(rune(text[i-1]))) && (from == len(text) || !isNameRune(rune(text[from]))) {
			return true
		}
	}
	return false
}

// firstOf returns the first byte of a text that is no blank of a line, or 0.
func firstOf(text string) byte {
	if text = strings.TrimLeft(text, " \t"); text == "" {
		return 0
	}
	return text[0]
}

func (r *printed) offered(calls []schemas.FunctionCall) bool {
	for _, call := range calls {
		if r.set.Resolve(call.Name) == nil {
			return false
		}
	}
	return len(calls) > 0
}

func (r *printed) fit(calls []schemas.FunctionCall) bool {
	for _, call := range calls {
		if !r.set.Resolve(call.Name).fits(call.Arguments) {
			return false
		}
	}
	return true
}

// pass shows n bytes of a frame that is none.
func (r *printed) pass(n int, out *[]byte) {
	r.code.passAll(string(r.held[:n]))
	r.show(n, out)
	r.frame = nil
}

// opens returns the frame that text begins, and whether more text may begin one.
func (r *printed) opens(text []byte) (f *frame, may bool) {
	for i := range r.frames {
		open := r.frames[i].open
		if n := min(len(open), len(text)); open[:n] == string(text[:n]) {
			if n == len(open) {
				return &r.frames[i], false
			}
			may = true
		}
	}
	return nil, may
}

// show shows n held bytes, and the blanks before them.
func (r *printed) show(n int, out *[]byte) {
	if n == 0 {
		return
	}
	*out = append(append(*out, r.lead...), r.held[:n]...)
	r.lead, r.begun, r.after = nil, true, false
	r.drop(n)
}

func (r *printed) drop(n int) { r.held = r.held[:copy(r.held, r.held[n:])] }
