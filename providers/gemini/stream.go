package gemini

import (
	"context"
	"errors"
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
	err := p.lessons.Tools.Settle(ctx, req.After, c.exchange(ctx))
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

// exchange sends the request through the SDK and reads its whole answer. A panic of the SDK, not of
// the consumer, is an event that cannot be read.
func (c *call) exchange(ctx context.Context) (failed error) {
	inside := true
	defer func() {
		if inside && recover() != nil {
			failed = c.end(ctx, c.p.unreadable(c.q.model))
		}
	}()
	// The iterator is ranged over once: each iteration sends a request.
	sdk := c.p.client.Models.GenerateContentStream(ctx, c.q.model, c.q.contents, c.q.config())
	for a, err := range wire.Waits(c.x, sdk) {
		inside = false
		if err != nil {
			return c.failed(ctx, err)
		}
		c.x.Output()
		if err := c.take(a); err != nil {
			return err
		}
		inside = true
	}
	inside = false
	return c.end(ctx, nil)
}

// end finishes a stream that gives no more events, since it is over or because of broken.
func (c *call) end(ctx context.Context, broken *providers.Error) error {
	cause := context.Cause(ctx)
	switch {
	case c.reason != "" && (cause == nil || errors.Is(cause, wire.ErrStalled)):
		return c.finish()
	case cause != nil:
		return c.p.faults.Cancelled(c.q.model, cause)
	case broken != nil:
		return broken
	}
	return c.finish()
}

func (c *call) fail(kind providers.Kind, text string) *providers.Error {
	return c.p.faults.Fail(kind, c.q.model, errors.New(text))
}
