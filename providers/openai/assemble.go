package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/google/uuid"

	"molar/schemas"
	"molar/schemas/lower"
)

// Limits of what one answer may call.
const (
	maxCalls     = 256
	maxArguments = 8 << 20 // bytes, of all calls together
)

// The faults of streamed calls.
var (
	errManyCalls = errors.New("the answer holds more than 256 tool calls")
	errLongCalls = errors.New("the arguments of the answer's tool calls are longer than 8 MB")
	errNameless  = errors.New("the answer holds a tool call without a name")
)

// An assembler puts tool calls together from the pieces that a stream brings.
// Pieces belong together by index, else by id, else because one follows the
// other; what cannot continue a call begins another.
type assembler struct {
	calls []*openCall
	size  int
}

// An openCall is a call to which pieces may still be added.
type openCall struct {
	index *int
	id    string
	name  string
	args  strings.Builder
	scan  scan
	extra json.RawMessage
}

// add takes in a piece.
func (a *assembler) add(p piece) error {
	c := a.find(p)
	if c == nil {
		if len(a.calls) >= maxCalls {
			return errManyCalls
		}
		c = &openCall{index: p.Index}
		a.calls = append(a.calls, c)
	}
	if c.id == "" {
		c.id = string(p.ID)
	}
	if c.name == "" {
		c.name = string(p.Function.Name)
	}
	if len(p.Extra) > 0 && string(p.Extra) != "null" {
		c.extra = p.Extra
	}
	return a.arguments(c, string(p.Function.Arguments))
}

// arguments adds to the arguments of a call. What follows a whole object can only
// be a repetition, unless the object was an empty one put there to begin with.
func (a *assembler) arguments(c *openCall, more string) error {
	if c.scan.whole() && c.args.String() == "{}" && strings.HasPrefix(more, "{") {
		c.args.Reset()
		c.scan = scan{}
	}
	if more == "" || c.scan.whole() {
		return nil
	}
	if a.size += len(more); a.size > maxArguments {
		return errLongCalls
	}
	c.args.WriteString(more)
	c.scan.add(more)
	return nil
}

// find returns the call that a piece continues, or nil.
func (a *assembler) find(p piece) *openCall {
	if len(a.calls) == 0 {
		return nil
	}
	last := a.calls[len(a.calls)-1]
	switch {
	case p.Index != nil:
		last = a.last(func(c *openCall) bool { return c.index != nil && *c.index == *p.Index })
	case p.ID != "":
		if same := a.last(func(c *openCall) bool { return c.id == string(p.ID) }); same != nil {
			return same
		}
	}
	if last == nil || last.endsBefore(p) {
		return nil
	}
	return last
}

func (a *assembler) last(match func(*openCall) bool) *openCall {
	for _, v := range slices.Backward(a.calls) {
		if match(v) {
			return v
		}
	}
	return nil
}

// endsBefore says whether a piece, which stands where a continuation would,
// begins another call instead. Only a name can begin one.
func (c *openCall) endsBefore(p piece) bool {
	id, name := string(p.ID), string(p.Function.Name)
	switch {
	case name == "" || c.name == "":
		return false
	case id != "" && c.id != "":
		return id != c.id
	case name != c.name:
		return true
	}
	return c.scan.whole() && strings.TrimSpace(string(p.Function.Arguments)) != ""
}

// A made call is a whole one with what must go back to the server beside it.
type made struct {
	call  schemas.ToolCall
	state *schemas.ProviderState
}

// finish returns the calls in the order in which they began, each with an id of
// ours. Wrapped says which tools were offered wrapped.
func (a *assembler) finish(wrapped map[string]bool) ([]made, error) {
	out := make([]made, 0, len(a.calls))
	for _, c := range a.calls {
		if c.name == "" && c.args.Len() == 0 {
			continue // an index that was opened and never used
		}
		if c.name == "" {
			return nil, errNameless
		}
		args := canonical(c.args.String())
		if wrapped[c.name] {
			args = lower.Unwrap(args)
		}
		out = append(out, made{
			call:  schemas.ToolCall{ID: uuid.NewString(), Function: schemas.FunctionCall{Name: c.name, Arguments: args}},
			state: keep(c.id, c.extra),
		})
	}
	return out, nil
}

// canonical makes the compact object of a call's arguments. An object that was
// quoted twice is unquoted; what is no JSON stays, for the check of the arguments
// to answer.
func canonical(args string) string {
	args = strings.TrimSpace(args)
	var inner string
	if strings.HasPrefix(args, `"`) && json.Unmarshal([]byte(args), &inner) == nil {
		args = strings.TrimSpace(inner)
	}
	if args == "" || args == "null" {
		return "{}"
	}
	var buf bytes.Buffer
	if json.Compact(&buf, []byte(args)) != nil {
		return args
	}
	return buf.String()
}

// A scan follows the braces of JSON text as it arrives, so that the end of an
// object is known without reading it again.
type scan struct {
	depth            int
	begun            bool
	inString, escape bool
}

func (s *scan) whole() bool { return s.begun && s.depth == 0 }

func (s *scan) add(text string) {
	for i := range len(text) {
		switch c := text[i]; {
		case s.escape:
			s.escape = false
		case s.inString && c == '\\':
			s.escape = true
		case c == '"':
			s.inString = !s.inString
		case s.inString:
		case c == '{' || c == '[':
			s.begun = true
			s.depth++
		case c == '}' || c == ']':
			s.depth = max(0, s.depth-1)
		}
	}
}
