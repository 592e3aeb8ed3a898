package anthropic

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
	case e.Name == "error", f.Type == "error", len(f.Error) > 0 && string(f.Error) != "null":
		return false, c.streamError(e.Data)
	}
	if f.Type != "ping" || c.silent {
		c.x.Progress()
	}
	switch f.Type {
	case "message_start":
		c.blocks.restart()
		if f.Message != nil {
			c.usage.update(f.Message.Usage)
		}
	case "content_block_start":
		return false, c.begin(f.Index, f.Block)
	case "content_block_delta":
		return false, c.add(f.Index, &f.Delta)
	case "content_block_stop":
		c.quiet(false)
	case "message_delta":
		c.usage.update(f.Usage)
		if f.Delta.StopReason != "" {
			c.reason = f.Delta.StopReason
			c.x.Last()
		}
	case "message_stop":
		return true, c.finish()
	}
	return false, nil
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
	switch {
	case err != nil && err.Error() == "unexpected end of JSON input":
		return c.p.faults.Broken(ctx, c.req.Model, io.ErrUnexpectedEOF)
	case err != nil:
		return c.fail(providers.KindProtocol, fmt.Errorf("the answer cannot be read: %w", err))
	case f.Type == "error", len(f.Error) > 0 && string(f.Error) != "null":
		return c.streamError(data)
	case f.Content == nil && f.StopReason == "":
		return c.fail(providers.KindProtocol, errors.New("the answer holds no content: does this server speak Anthropic's Messages API?"))
	}
	for i := range f.Content {
		if err := c.begin(i, &f.Content[i]); err != nil {
			return err
		}
	}
	c.usage.update(f.Usage)
	if c.reason = f.StopReason; c.reason == "" {
		c.reason = reasonEnd
	}
	return c.finish()
}

// begin handles the start of a block, which may hold some or all of it.
func (c *call) begin(index int, b *content) error {
	if b == nil {
		return nil
	}
	if b.Type == typeText {
		return c.say(b.Text, "")
	}
	if !c.blocks.begin(index, b) {
		return nil
	}
	c.x.Output()
	c.quiet(true)
	if b.Type == typeToolUse {
		return c.check()
	}
	// A thought may hold no text, and tells nevertheless that the model thinks.
	c.answer.Thought = true
	return c.say("", b.Thinking)
}

// add handles a piece of a block.
func (c *call) add(index int, d *delta) error {
	c.blocks.add(index, d)
	if d.Partial != "" {
		c.x.Output()
		return c.check()
	}
	return c.say(d.Text, d.Thinking)
}

// quiet sets whether long pauses are to be expected.
func (c *call) quiet(silent bool) {
	if c.silent == silent {
		return
	}
	c.silent = silent
	wait := c.p.limits.Idle
	if silent {
		wait = c.p.limits.First
	}
	c.x.Patience(wait)
}

func (c *call) say(text, thinking string) error {
	c.blocks.text += len(text)
	return c.answer.Say(text, thinking, nil)
}

// check returns the error of an answer with too many calls.
func (c *call) check() error {
	if err := c.blocks.check(); err != nil {
		return c.fail(providers.KindProtocol, err)
	}
	return nil
}
