package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"molar/internal/sse"
	"molar/providers"
	"molar/providers/wire"
)

// event handles one event and reports whether it ended the answer.
func (c *call) event(e sse.Event) (done bool, err error) {
	if e.IsDone() {
		return true, c.finish()
	}
	f, err := decode(e.Data)
	switch {
	case err != nil && e.Cut:
		return false, errCut
	case err != nil:
		return false, c.fail(providers.KindProtocol, fmt.Errorf("a message of the stream cannot be read: %w", err))
	case e.Name == "error", isError(f.Error):
		err := c.streamError(e.Data)
		return err == nil, err
	}
	return false, c.frame(f, func(ch *choice) *delta { return &ch.Delta })
}

// decode decodes a frame. It treats a field of the wrong type as missing.
func decode(data []byte) (*frame, error) {
	var f frame
	err := json.Unmarshal(data, &f)
	if _, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		err = nil
	}
	return &f, err
}

// whole reads an answer that is not streamed.
func (c *call) whole(ctx context.Context, body io.Reader) error {
	data, err := wire.All(body)
	if err != nil || context.Cause(ctx) != nil {
		return c.p.faults.Broken(ctx, c.req.Model, err)
	}
	f, err := decode(data)
	if err != nil {
		if err.Error() == "unexpected end of JSON input" {
			return c.p.faults.Broken(ctx, c.req.Model, io.ErrUnexpectedEOF)
		}
		return c.fail(providers.KindProtocol, fmt.Errorf("the answer cannot be read: %w", err))
	}
	switch {
	case isError(f.Error):
		return c.streamError(data)
	case len(f.Choices) == 0:
		return c.fail(providers.KindProtocol, errors.New("the answer holds no choices: is this an OpenAI-compatible server?"))
	}
	if err := c.frame(f, func(ch *choice) *delta { return &ch.Message }); err != nil {
		return err
	}
	if c.reason == "" {
		c.reason = string(providers.FinishStop)
	}
	return c.finish()
}

// frame emits the contents of a frame.
func (c *call) frame(f *frame, in func(*choice) *delta) error {
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

func (c *call) delta(d *delta) error {
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

func (c *call) piece(p piece) error {
	c.x.Output()
	if err := c.calls.add(p); err != nil {
		return c.fail(providers.KindProtocol, err)
	}
	return nil
}
