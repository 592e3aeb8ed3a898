package wire

import (
	"encoding/json"
	"errors"
	"io"
	"strings"

	"molar/schemas"
)

// A progress is how far a [cursor] got.
type progress int

const (
	reading progress = iota
	short            // the text ends before the call does
	wrong            // the text is something else
)

// A cursor reads printed calls from the beginning of a text. Once its state is not reading, its
// methods do nothing.
type cursor struct {
	text string // unread
	set  ToolSet
	// last is set if no more text comes.
	last  bool
	state progress
	calls []schemas.FunctionCall
	// name is the name of the last call, if it was reached; sure is set once what follows it shows
	// that it is a call.
	name string
	sure bool
}

func (c *cursor) fail(p progress) {
	if c.state == reading {
		c.state = p
	}
}

func (c *cursor) trim(chars string) {
	if c.state == reading {
		c.text = strings.TrimLeft(c.text, chars)
	}
}

// next takes a mark if it is next. If more text could make it the next, the text is short.
func (c *cursor) next(mark string) bool {
	if c.state != reading {
		return false
	}
	after, found := strings.CutPrefix(c.text, mark)
	if found {
		c.text = after
	} else if !c.last && strings.HasPrefix(mark, c.text) {
		c.fail(short)
	}
	return found
}

// must takes a mark that has to be next.
func (c *cursor) must(mark string) {
	if c.next(mark) {
		return
	}
	if strings.HasPrefix(mark, c.text) {
		c.fail(short)
	}
	c.fail(wrong)
}

// until takes the text before the first of the marks, and that mark.
func (c *cursor) until(marks ...string) (before, mark string) {
	if c.state != reading {
		return "", ""
	}
	at := len(c.text)
	for _, m := range marks {
		if i := strings.Index(c.text[:at], m); i >= 0 {
			at, mark = i, m
		}
	}
	if mark == "" {
		c.fail(short)
		return "", ""
	}
	before, c.text = c.text[:at], c.text[at+len(mark):]
	return before, mark
}

// word takes a function's name, with its namespace.
func (c *cursor) word() string {
	if c.state != reading {
		return ""
	}
	n := strings.IndexFunc(c.text, func(r rune) bool { return !isNameRune(r) && !strings.ContainsRune(".:/", r) })
	if n < 0 && c.last {
		n = len(c.text)
	}
	switch {
	case n < 0 || c.text == "":
		c.fail(short)
		return ""
	case n == 0:
		c.fail(wrong)
		return ""
	}
	c.name, c.sure, c.text = c.text[:n], false, c.text[n:]
	return c.name
}

// value takes a JSON value.
func (c *cursor) value() json.RawMessage {
	c.trim(blanks)
	if c.state != reading {
		return nil
	}
	dec := json.NewDecoder(strings.NewReader(c.text))
	var raw json.RawMessage
	switch err := dec.Decode(&raw); {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		c.fail(short)
	case err != nil, schemas.CheckJSON(raw) != nil:
		c.fail(wrong)
	default:
		c.text = c.text[dec.InputOffset():]
	}
	return raw
}

// call adds a call with arguments that are a JSON object.
func (c *cursor) call(name string, arguments []byte) {
	if c.state != reading {
		return
	}
	args := Arguments(arguments)
	if args[0] != '{' || schemas.CheckJSON([]byte(args)) != nil {
		c.fail(wrong)
		return
	}
	c.calls = append(c.calls, schemas.FunctionCall{Name: name, Arguments: args})
}

// choose reads with the first item that fits. Without one the text is short if it is for some.
func (c *cursor) choose(items ...item) {
	if c.state != reading {
		return
	}
	state := wrong
	for _, read := range items {
		try := *c
		if read(&try); try.state == reading {
			*c = try
			return
		}
		c.name, c.sure = try.name, try.sure
		if try.state == short {
			state = short
		}
	}
	c.fail(state)
}
