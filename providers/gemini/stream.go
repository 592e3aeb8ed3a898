package gemini

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"

	"molar/providers"
	"molar/providers/wire"
	"molar/schemas"
)

// Stream runs one model call, in one request.
func (p *Provider) Stream(ctx context.Context, req providers.Request) iter.Seq2[providers.Chunk, error] {
	return wire.Stream(func(emit wire.Emit) error {
		q, err := p.prepare(req)
		if err != nil {
			return err
		}
		return p.run(ctx, q, req, emit)
	})
}

// run makes the call and emits its chunks.
func (p *Provider) run(ctx context.Context, q *query, req providers.Request, emit wire.Emit) error {
	ctx, x := wire.Begin(ctx, p.limits, req.Until)
	defer x.End()
	c := &call{p: p, q: q, req: req, x: x, grounded: map[string]bool{}}
	c.answer = wire.Answer{
		Emit: emit, X: x, Set: q.set, Forbid: q.forbid,
		Speech: wire.NewSpeech(&p.unopened, req, wire.Printed(q.set, req)),
		After:  req.After,
		Fail:   func(err error) *providers.Error { return p.faults.Fail(providers.KindProtocol, q.model, err) },
	}
	err := p.tools.Settle(ctx, req.After, c.exchange(ctx))
	if err == nil || errors.Is(err, wire.ErrStopped) {
		return err
	}
	// A failed call has used tokens too.
	if c.usage != (schemas.Usage{}) {
		if stopped := emit(providers.Chunk{Usage: &c.usage}); stopped != nil {
			return stopped
		}
	}
	return c.answer.Failed(err)
}

// A call is one run of Stream.
type call struct {
	p      *Provider
	q      *query
	req    providers.Request
	x      *wire.Exchange
	answer wire.Answer

	grounded map[string]bool
	usage    schemas.Usage
	reason   string // the finish reason
	detail   string // its text
	blocked  string // why the prompt was blocked
}

// exchange sends the request and reads its whole answer.
func (c *call) exchange(ctx context.Context) error {
	resp, err := c.p.send(ctx, c.q)
	if err != nil {
		return c.p.faults.Transport(ctx, c.q.model, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return c.p.suggest(ctx, c.p.refusal(c.q, resp))
	}
	start, body, err := wire.First(c.x.Watch(resp.Body))
	switch {
	case err != nil:
		return c.end(ctx, err)
	case start == '<':
		return c.fail(providers.KindProtocol, c.p.faults.Page())
	}
	broken := io.EOF // the cause if the stream ends here
	for e, err := range wire.Events(body) {
		if err != nil {
			return c.end(ctx, err)
		}
		if e.IsDone() {
			continue
		}
		c.x.Output()
		var a answer
		if err := json.Unmarshal(e.Data, &a); err != nil {
			if !e.Cut {
				return c.unreadable(err)
			}
			broken = io.ErrUnexpectedEOF
			continue
		}
		if err := c.take(&a); err != nil {
			return err
		}
	}
	return c.end(ctx, broken)
}

// end finishes a stream that gives no more events.
func (c *call) end(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	whole := c.reason != "" && (cause == nil || errors.Is(cause, wire.ErrStalled))
	if whole || cause == nil && errors.Is(err, io.EOF) {
		return c.finish()
	}
	return c.p.faults.Broken(ctx, c.q.model, err)
}

func (c *call) unreadable(err error) error {
	c.p.log.Debug("an event of gemini cannot be read", "error", c.p.faults.Clean(err.Error()))
	return c.fail(providers.KindProtocol, "an event of the stream cannot be read; check that "+c.p.setting+".base_url is the Gemini API")
}

func (c *call) fail(kind providers.Kind, text string) *providers.Error {
	return c.p.faults.Fail(kind, c.q.model, errors.New(text))
}
