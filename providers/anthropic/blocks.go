package anthropic

import (
	"errors"
	"slices"
	"strings"

	"molar/providers/wire"
	"molar/schemas"
)

// The types of blocks that are read.
const (
	typeText     = "text"
	typeThinking = "thinking"
	typeRedacted = "redacted_thinking"
	typeToolUse  = "tool_use"
)

// Limits of the calls of one answer.
const (
	maxCalls     = 256
	maxArguments = 8 << 20 // bytes, of all calls together
)

// The faults of calls.
var (
	errManyCalls = errors.New("the answer holds more than 256 tool calls")
	errLongCalls = errors.New("the arguments of the answer's tool calls are longer than 8 MB")
	errNameless  = errors.New("the answer holds a tool call without a name")
)

// blocks collects the thoughts and calls of an answer, in the order in which they began.
type blocks struct {
	all  []*openBlock
	text int // how much text came so far, in bytes
	// calls and size are the number of calls, and the bytes of their arguments.
	calls, size int
}

// An openBlock is a block that may get more pieces.
type openBlock struct {
	content
	index     int
	at        int // the text before it
	thinking  strings.Builder
	signature strings.Builder
	args      strings.Builder
}

// restart drops the blocks: a server that tries again in the middle of an answer begins a new message.
func (b *blocks) restart() { b.all, b.calls, b.size = nil, 0, 0 }

// begin opens a block, and reports whether it is one to collect.
func (b *blocks) begin(index int, c *content) bool {
	switch c.Type {
	case typeToolUse:
		b.calls++
		b.size += len(c.Input)
	case typeThinking, typeRedacted:
	default:
		return false
	}
	open := &openBlock{content: *c, index: index, at: b.text}
	open.thinking.WriteString(c.Thinking)
	open.signature.WriteString(c.Signature)
	b.all = append(b.all, open)
	return true
}

// add appends a piece to the open block with that index.
func (b *blocks) add(index int, d *delta) {
	for _, open := range slices.Backward(b.all) {
		if open.index == index {
			open.thinking.WriteString(d.Thinking)
			open.signature.WriteString(d.Signature)
			if b.size += len(d.Partial); b.size <= maxArguments {
				open.args.WriteString(d.Partial)
			}
			return
		}
	}
}

func (b *blocks) check() error {
	switch {
	case b.calls > maxCalls:
		return errManyCalls
	case b.size > maxArguments:
		return errLongCalls
	}
	return nil
}

// A finished is a complete call and the state that must go back to the server with it.
type finished struct {
	call  schemas.FunctionCall
	state state
}

// finish returns the calls in order, each with the thoughts between it and the one before. Thoughts
// behind the last call are not needed: the service asks only for those that led to a call.
func (b *blocks) finish() ([]finished, error) {
	var out []finished
	var thoughts []thought
	for _, open := range b.all {
		if open.Type != typeToolUse {
			open.Thinking, open.Signature = open.thinking.String(), open.signature.String()
			thoughts = append(thoughts, thoughtOf(&open.content, open.at))
			continue
		}
		if open.Name == "" {
			return nil, errNameless
		}
		// The pieces replace the placeholder of the start, which is whole only where none follow.
		args := []byte(open.args.String())
		if len(args) == 0 {
			args = open.Input
		}
		call := schemas.FunctionCall{Name: open.Name, Arguments: wire.Arguments(args)}
		out = append(out, finished{call, state{ID: open.ID, Thoughts: thoughts}})
		thoughts = nil
	}
	return out, nil
}
