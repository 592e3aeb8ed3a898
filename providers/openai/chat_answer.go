package openai

import (
	"errors"

	"molar/internal/sse"
	"molar/providers"
)

// A chatReader reads the answer of Chat Completions.
type chatReader struct {
	*call
	index *int // the choice to read
	calls assembler
	trail trail
}

// event handles one event and reports whether it ended the answer.
func (c *chatReader) event(e sse.Event) (done bool, err error) {
	if e.IsDone() {
		return true, c.finish()
	}
	var f frame
	err = decode(e.Data, &f)
	switch {
	case err != nil:
		return false, c.unreadable(e, err)
	case e.Name == "error", isError(f.Error):
		err := c.streamError(e.Data)
		return err == nil, err
	}
	return false, c.frame(&f, func(ch *choice) *delta { return &ch.Delta })
}

// whole reads an answer that is not streamed.
func (c *chatReader) whole(data []byte) error {
	var f frame
	err := decode(data, &f)
	switch {
	case err != nil:
		return err
	case isError(f.Error):
		return c.streamError(data)
	case len(f.Choices) == 0:
		return c.fail(providers.KindProtocol, errors.New("the answer holds no choices: is this an OpenAI-compatible server?"))
	}
	if err := c.frame(&f, func(ch *choice) *delta { return &ch.Message }); err != nil {
		return err
	}
	if c.reason == "" {
		c.reason = string(providers.FinishStop)
	}
	return c.finish()
}

// finish emits the calls and ends the answer.
func (c *chatReader) finish() error {
	calls, err := c.calls.finish()
	if err != nil {
		return c.fail(providers.KindProtocol, err)
	}
	if len(calls) > 0 {
		calls[0].state.reasoning, calls[0].state.Thinking = c.trail.reasoning(), c.trail.thinking.String()
	}
	return c.end(calls)
}

// frame emits the contents of a frame.
func (c *chatReader) frame(f *frame, in func(*choice) *delta) error {
	if f.Usage != nil {
		c.usage = f.Usage.schema()
	}
	if n := f.Timings.Cached; n > 0 && c.usage != nil {
		c.usage.CachedTokens = max(c.usage.CachedTokens, n)
	}
	for i := range f.Choices {
		ch := &f.Choices[i]
		if c.index == nil {
			c.index = &ch.Index
		}
		if *c.index != ch.Index {
			continue // only one answer was requested
		}
		if err := c.delta(in(ch)); err != nil {
			return err
		}
		if ch.FinishReason != "" {
			c.reason = string(ch.FinishReason)
			c.x.Last()
		}
	}
	return nil
}

func (c *chatReader) delta(d *delta) error {
	c.refused = c.refused || d.Refusal != ""
	c.trail.add(d)
	if err := c.answer.Say(string(d.Content.text+d.Refusal), d.thinking(), nil); err != nil {
		return err
	}
	for _, piece := range d.ToolCalls {
		if err := c.piece(piece); err != nil {
			return err
		}
	}
	if d.FunctionCall != nil {
		return c.piece(piece{Function: *d.FunctionCall})
	}
	return nil
}

func (c *chatReader) piece(p piece) error {
	c.x.Output()
	if err := c.calls.add(p); err != nil {
		return c.fail(providers.KindProtocol, err)
	}
	return nil
}
