package openai

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"molar/internal/sse"
	"molar/providers/wire"
	"molar/schemas"
)

// Limits of the calls of one answer.
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

// An assembler assembles tool calls from streamed pieces. Pieces belong together by index, else
// by id, else by order; a piece that cannot continue a call begins another.
type assembler struct {
	calls []*openCall
	size  int
}

// An openCall is a call that may get more pieces.
type openCall struct {
	index *int
	id    string
	name  string
	args  strings.Builder
	scan  sse.Scan
	extra json.RawMessage
}

// add adds a piece.
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

// arguments appends to the arguments of a call. After a complete object only a repetition can
// follow, unless the object was an empty placeholder.
func (a *assembler) arguments(c *openCall, more string) error {
	if c.scan.Whole() && c.args.String() == "{}" && strings.HasPrefix(more, "{") {
		c.args.Reset()
		c.scan = sse.Scan{}
	}
	if more == "" || c.scan.Whole() {
		return nil
	}
	if a.size += len(more); a.size > maxArguments {
		return errLongCalls
	}
	c.args.WriteString(more)
	c.scan.Add(more)
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

// endsBefore reports whether a piece in the place of a continuation begins another call instead.
// Only a name can begin one.
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
	return c.scan.Whole() && strings.TrimSpace(string(p.Function.Arguments)) != ""
}

// An assembled is a complete call and the state that must go back to the server with it.
type assembled struct {
	call  schemas.FunctionCall
	state state
}

// finish returns the calls in the order in which they began.
func (a *assembler) finish() ([]assembled, error) {
	out := make([]assembled, 0, len(a.calls))
	for _, c := range a.calls {
		if c.name == "" && c.args.Len() == 0 {
			continue // an unused index
		}
		if c.name == "" {
			return nil, errNameless
		}
		call := schemas.FunctionCall{Name: c.name, Arguments: wire.Arguments([]byte(c.args.String()))}
		out = append(out, assembled{call, state{ID: c.id, Extra: c.extra}})
	}
	return out, nil
}
