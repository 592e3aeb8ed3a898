package ollama

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"

	"molar/providers/wire"
	"molar/schemas"
)

// blanks may separate the parts of the form.
const blanks = " \t\r\n"

// maxForm bounds the calls of an answer, in bytes.
const maxForm = 1 << 20

// errUnreadable means that an answer is not in the requested form.
var errUnreadable = errors.New("the model's answer is not in the form that offers it tools")

// A formMode is the detected kind of an answer in a form.
type formMode int

const (
	formUnknown formMode = iota
	formCalls
	formAnswer // inside the string of the answer
	formEnded  // after it
	formProse  // no JSON: the server or model does not support formats
)

// A formReader parses an answer in a [form].
type formReader struct {
	form *form
	mode formMode
	raw  strings.Builder // not decoded yet
}

// Take decodes the text of an answer.
func (r *formReader) Take(piece string) (string, error) {
	switch r.mode {
	case formProse:
		return piece, nil
	case formEnded:
		return "", nil
	}
	r.raw.WriteString(piece)
	if r.mode == formUnknown {
		r.recognise()
	}
	switch {
	case r.mode == formProse:
		return r.Take(r.drain())
	case r.mode == formAnswer:
		return r.decode()
	case r.raw.Len() > maxForm:
		return "", fmt.Errorf("%w: its calls are longer than 1 MB", errUnreadable)
	}
	return "", nil
}

// recognise detects which object has begun.
func (r *formReader) recognise() {
	text := strings.TrimLeft(r.raw.String(), blanks)
	switch {
	case text == "":
	case r.form.required:
		r.mode = formCalls
	case text[0] != '{':
		r.mode = formProse
	default:
		for _, part := range []string{"{", `"answer"`, ":", `"`} {
			text = strings.TrimLeft(text, blanks)
			rest, found := strings.CutPrefix(text, part)
			if !found {
				if !strings.HasPrefix(part, text) {
					r.mode = formCalls
				}
				return
			}
			text = rest
		}
		r.mode = formAnswer
		r.raw.Reset()
		r.raw.WriteString(text)
	}
}

// decode returns the complete part of the answer's string.
func (r *formReader) decode() (string, error) {
	raw := r.drain()
	n, ended := wholeText(raw)
	if ended {
		r.mode = formEnded
	} else {
		r.raw.WriteString(raw[n:])
	}
	var text string
	if err := json.Unmarshal([]byte(`"`+raw[:n]+`"`), &text); err != nil {
		return "", fmt.Errorf("%w: %w", errUnreadable, err)
	}
	return text, nil
}

func (r *formReader) drain() string {
	raw := r.raw.String()
	r.raw.Reset()
	return raw
}

// wholeText returns how many bytes of the inside of a JSON string are complete characters, and
// whether the string ends there.
func wholeText(raw string) (n int, ended bool) {
	for n < len(raw) {
		size := 1
		switch raw[n] {
		case '"':
			return n, true
		case '\\':
			size = escape(raw[n:])
		}
		if size == 0 {
			return n, false
		}
		n += size
	}
	return n, false
}

// escape returns the length of the escape at the start of raw, or 0 if it is incomplete: two
// escapes may form one character.
func escape(raw string) int {
	switch {
	case len(raw) < 2:
		return 0
	case raw[1] != 'u':
		return 2
	case len(raw) < 6:
		return 0
	case !utf16.IsSurrogate(unit(raw)) || unit(raw) >= lowSurrogate:
		return 6
	}
	switch rest := raw[6:]; {
	case len(rest) < 6 && (rest == "" || rest == `\` || strings.HasPrefix(rest, `\u`)):
		return 0
	case len(rest) < 6 || rest[:2] != `\u` || !utf16.IsSurrogate(unit(rest)) || unit(rest) < lowSurrogate:
		return 6
	}
	return 12
}

// lowSurrogate is the first unit that can end a pair.
const lowSurrogate = 0xDC00

// unit returns the value of an escape's four digits; 0 if they are invalid.
func unit(escape string) rune {
	n, err := strconv.ParseUint(escape[2:6], 16, 16)
	if err != nil {
		return 0
	}
	return rune(n)
}

// End parses the calls, which the grammar restricts to the offered tools. Without a grammar a
// model may have written anything.
func (r *formReader) End(cut bool) (text string, calls []schemas.FunctionCall, err error) {
	if r.mode != formCalls {
		return "", nil, nil
	}
	calls = wire.ReadPrinted(r.raw.String(), r.form.set)
	for _, call := range calls {
		if r.form.set.Resolve(call.Name) == nil {
			return "", nil, fmt.Errorf("%w: it calls %q, which is not offered", errUnreadable, call.Name)
		}
	}
	if calls == nil && !cut {
		return "", nil, errUnreadable
	}
	return "", calls, nil
}

// Rest returns nothing: an answer in the form is decoded as it arrives.
func (r *formReader) Rest() string { return "" }
