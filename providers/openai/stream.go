package openai

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"molar/providers"
	"molar/schemas"
)

const (
	// drainTime is how long an ended stream may take to close, so that its
	// connection can be used again; lateTime, how long the usage and the mark of the
	// end may come after the finish reason.
	drainTime = 250 * time.Millisecond
	lateTime  = 2 * time.Second
)

// errStopped unwinds a call whose consumer broke off.
var errStopped = errors.New("the consumer broke off")

// errCut says that the stream ended inside an event.
var errCut = errors.New("the stream ended inside a message")

// Stream runs one model call. Before any output it asks again, at most twice,
// when the service is overloaded or tells to wait no longer than 30 s; and without
// a parameter that the model does not take.
func (p *Provider) Stream(ctx context.Context, req providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		c := &call{p: p, req: req, yield: yield}
		if err := c.run(ctx); err != nil && !errors.Is(err, errStopped) {
			yield(providers.Chunk{}, err)
		}
	}
}

// A call is one run of Stream.
type call struct {
	p       *Provider
	req     providers.Request
	yield   func(providers.Chunk, error) bool
	wrapped map[string]bool

	cancel context.CancelCauseFunc
	first  *time.Timer // bounds the wait for the first output
	idle   *time.Timer // bounds every later wait; nil before the first output

	refusal *refusal // of the last attempt, if the service refused it
	seen    bool     // an event came
	begun   bool     // output came
	texts   bool     // text went out
	refused bool     // the model refused
	index   *int     // the choice that is read
	reason  string   // why the model ended
	calls   assembler
	usage   *schemas.Usage
}

func (c *call) run(ctx context.Context) error {
	b, wrapped, err := c.p.prepare(c.req)
	if err != nil {
		return err
	}
	c.wrapped = wrapped
	ctx, c.cancel = context.WithCancelCause(ctx)
	defer c.cancel(nil)
	c.first = time.AfterFunc(c.p.firstByte, func() { c.cancel(errNoOutput) })
	defer c.stopTimers()
	for tries := 0; ; {
		c.refusal = nil
		err := c.attempt(ctx, b)
		if err == nil || c.refusal == nil {
			return err
		}
		if parameter := c.p.quirks.learn(b, c.refusal.status, c.refusal.fault); parameter != "" {
			err = c.emit(providers.Chunk{Note: fmt.Sprintf("the model does not take %s, asked again without it", parameter)})
		} else if pause, again := c.refusal.pause(tries); again {
			tries++
			if err = c.emit(providers.Chunk{Note: fmt.Sprintf("status %d, asked again", c.refusal.status)}); err == nil {
				err = c.wait(ctx, pause)
			}
		}
		if err != nil {
			return err
		}
	}
}

func (c *call) stopTimers() {
	c.first.Stop()
	if c.idle != nil {
		c.idle.Stop()
	}
}

// wait sleeps, unless the context ends.
func (c *call) wait(ctx context.Context, pause time.Duration) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return c.p.cancelled(c.req.Model, context.Cause(ctx))
	}
}

// emit hands a chunk to the consumer.
func (c *call) emit(chunk providers.Chunk) error {
	if !c.yield(chunk, nil) {
		return errStopped
	}
	return nil
}

// attempt sends the request and reads its answer to the end.
func (c *call) attempt(ctx context.Context, b *body) error {
	resp, err := c.p.post(ctx, b)
	if err != nil {
		return c.p.transportError(ctx, c.req.Model, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		c.refusal = c.p.readRefusal(c.req.Model, resp)
		return c.refusal.err
	}
	// The smallest buffer there is: it only looks at the first byte.
	src := bufio.NewReaderSize(resp.Body, 16)
	switch start, err := firstByte(src); {
	case err != nil:
		return c.ended(ctx, err, resp.Header)
	case start == '{':
		return c.whole(ctx, src)
	}
	return c.stream(ctx, src, resp.Header)
}
