package openai

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"molar/providers"
)

// firstByte skips blanks and looks at what follows.
func firstByte(src *bufio.Reader) (byte, error) {
	for {
		b, err := src.ReadByte()
		if err != nil {
			return 0, err
		}
		if !strings.ContainsRune(" \t\r\n", rune(b)) {
			return b, src.UnreadByte()
		}
	}
}

// stream reads an event stream.
func (c *call) stream(ctx context.Context, src io.Reader, header http.Header) error {
	events := newEventReader(src)
	for {
		e, err := events.next()
		if err != nil {
			return c.ended(ctx, err, header)
		}
		c.seen = true
		// While the consumer works, the server is not to blame for silence.
		if c.idle != nil {
			c.idle.Stop()
		}
		done, err := c.event(e)
		if errors.Is(err, errCut) {
			_, err = events.next()
			return c.ended(ctx, err, header)
		}
		if done {
			c.await(drainTime)
			events.drain()
		}
		if done || err != nil {
			return err
		}
		switch {
		case c.reason != "":
			c.await(min(lateTime, c.p.idle))
		case c.begun:
			c.await(c.p.idle)
		}
	}
}

// await bounds the wait for what comes next, now that output came.
func (c *call) await(limit time.Duration) {
	if c.idle != nil {
		c.idle.Reset(limit)
		return
	}
	c.first.Stop()
	c.idle = time.AfterFunc(limit, func() { c.cancel(errStalled) })
}

// ended explains the end of a stream that did not mark it. The mark may be
// missing when the model's own end was seen.
func (c *call) ended(ctx context.Context, err error, header http.Header) error {
	cause := context.Cause(ctx)
	switch {
	case c.reason != "" && (cause == nil || errors.Is(cause, errStalled)):
		return c.finish()
	case cause != nil:
		return c.p.cancelled(c.req.Model, cause)
	case errors.Is(err, errLong):
		return c.p.fail(providers.KindProtocol, c.req.Model, err)
	case !c.seen && strings.Contains(header.Get("Content-Type"), "html"):
		return c.p.fail(providers.KindProtocol, c.req.Model, errors.New("the answer is a web page: check llm.openai.base_url, which usually ends in /v1"))
	}
	return c.broken(err)
}

func (c *call) broken(err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return c.p.fail(providers.KindIncomplete, c.req.Model, fmt.Errorf("the stream broke off before its end: %w", c.p.plain(err)))
}

// event takes in one event and says whether it ended the answer.
func (c *call) event(e event) (done bool, err error) {
	if isDone(e.data) {
		return true, c.finish()
	}
	f, err := decode(e.data)
	switch {
	case err != nil && e.cut:
		return false, errCut
	case err != nil:
		return false, c.p.fail(providers.KindProtocol, c.req.Model, fmt.Errorf("a message of the stream cannot be read: %w", err))
	case e.fault, isError(f.Error):
		return false, c.p.streamError(c.req.Model, e.data)
	}
	return false, c.frame(f, func(ch *choice) *delta { return &ch.Delta })
}

// decode reads a frame. A field of the wrong type is taken for a missing one.
func decode(data []byte) (*frame, error) {
	var f frame
	err := json.Unmarshal(data, &f)
	if _, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		err = nil
	}
	return &f, err
}

// whole reads the answer of a server that does not stream.
func (c *call) whole(ctx context.Context, src io.Reader) error {
	data, err := io.ReadAll(io.LimitReader(src, maxLine+1))
	switch {
	case context.Cause(ctx) != nil:
		return c.p.cancelled(c.req.Model, context.Cause(ctx))
	case len(data) > maxLine:
		return c.p.fail(providers.KindProtocol, c.req.Model, errLong)
	case err != nil:
		return c.broken(err)
	}
	f, err := decode(data)
	if err != nil {
		if err.Error() == "unexpected end of JSON input" {
			return c.broken(io.ErrUnexpectedEOF)
		}
		return c.p.fail(providers.KindProtocol, c.req.Model, fmt.Errorf("the answer cannot be read: %w", err))
	}
	switch {
	case isError(f.Error):
		return c.p.streamError(c.req.Model, data)
	case len(f.Choices) == 0:
		return c.p.fail(providers.KindProtocol, c.req.Model, errors.New("the answer holds no choices: is this an OpenAI-compatible server?"))
	}
	if err := c.frame(f, func(ch *choice) *delta { return &ch.Message }); err != nil {
		return err
	}
	if c.reason == "" {
		c.reason = string(providers.FinishStop)
	}
	return c.finish()
}

// frame hands on what a frame brought.
func (c *call) frame(f *frame, in func(*choice) *delta) error {
	if f.Usage != nil {
		c.usage = f.Usage.schema()
	}
	for i := range f.Choices {
		ch := &f.Choices[i]
		if c.index == nil {
			c.index = &ch.Index
		}
		if *c.index != ch.Index {
			continue // one answer was asked for
		}
		if err := c.delta(in(ch)); err != nil {
			return err
		}
		if ch.FinishReason != "" {
			c.reason = string(ch.FinishReason)
			c.begun = true
		}
	}
	return nil
}

func (c *call) delta(d *delta) error {
	chunk := providers.Chunk{Text: string(d.Content), Thinking: d.thinking()}
	if d.Refusal != "" {
		c.refused = true
		chunk.Text += string(d.Refusal)
	}
	c.texts = c.texts || chunk.Text != ""
	c.begun = c.begun || c.texts || chunk.Thinking != "" || len(d.ToolCalls) > 0 || d.FunctionCall != nil
	if chunk.Text != "" || chunk.Thinking != "" {
		if err := c.emit(chunk); err != nil {
			return err
		}
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
	if err := c.calls.add(p); err != nil {
		return c.p.fail(providers.KindProtocol, c.req.Model, err)
	}
	return nil
}
