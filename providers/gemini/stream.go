package gemini

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"net/http"
	"time"

	"google.golang.org/genai"

	"molar/providers"
	"molar/schemas"
)

const (
	// maxRetries bounds how often a busy service is asked again, maxWait how long
	// one wait may be: a longer one is for the person to know of.
	maxRetries = 2
	maxWait    = 30 * time.Second
	// busyWait is the first wait for a service that names none.
	busyWait = time.Second
	// drainTime is how long an ended answer may take to close its stream.
	drainTime = 2 * time.Second
)

var (
	// errStopped unwinds a call whose consumer broke off.
	errStopped = errors.New("the consumer broke off")
	// errBadCall: the model wrote a call that the service could not read.
	errBadCall = errors.New("the model's tool call could not be read")
)

// Stream runs one model call. Before the first output it asks again: once when the
// model's call could not be read, twice when the service is busy (500, 503) or
// names a wait of at most 30 s with its refusal (429).
func (p *Provider) Stream(ctx context.Context, req providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		q, err := p.prepare(req)
		if err != nil {
			yield(providers.Chunk{}, err)
			return
		}
		p.run(ctx, q, yield)
	}
}

// run makes the call and yields its chunks, and its error once and last.
func (p *Provider) run(ctx context.Context, q *query, yield func(providers.Chunk, error) bool) {
	c := &call{p: p, q: q, yield: yield, grounded: map[string]bool{}}
	if n := len(q.contents); n > 0 {
		c.follows = q.contents[n-1].Parts[0].FunctionResponse != nil
	}
	err := c.run(ctx)
	if err == nil || errors.Is(err, errStopped) {
		return
	}
	// A call that failed has cost something too.
	if total := c.spent.Add(c.usage); total != (schemas.Usage{}) && !yield(providers.Chunk{Usage: &total}, nil) {
		return
	}
	yield(providers.Chunk{}, err)
}

// A call is one run of Stream.
type call struct {
	p       *Provider
	q       *query
	yield   func(providers.Chunk, error) bool
	follows bool // on a tool result, so that silence may be an answer

	texts    bool // text went out
	calls    int  // calls that went out
	grounded map[string]bool
	spent    schemas.Usage // of earlier attempts

	// Of the current attempt:
	usage   schemas.Usage
	reason  string // why the answer ended
	detail  string // the service's words for it
	blocked string // why the prompt was refused
}

func (c *call) run(ctx context.Context) error {
	busy, bad := 0, 0
	for {
		err := c.attempt(ctx)
		if err == nil || errors.Is(err, errStopped) || c.texts || c.calls > 0 {
			return err
		}
		wait := c.p.wait(err, busy)
		note := ""
		switch {
		case errors.Is(err, errBadCall) && bad == 0:
			bad++
			note = "unreadable tool call (" + c.reason + "), asked again"
		case wait > 0 && busy < maxRetries:
			busy++
			note = fmt.Sprintf("asked again after %v: %v", wait.Round(time.Millisecond), err)
		default:
			return err
		}
		if err := c.emit(providers.Chunk{Note: note}); err != nil {
			return err
		}
		if err := c.p.pause(ctx, c.q.model, wait); err != nil {
			return err
		}
		c.spent, c.usage = c.spent.Add(c.usage), schemas.Usage{}
		c.reason, c.detail, c.blocked = "", "", ""
	}
}

// wait says how long to wait before the service is asked again; 0 means not at all.
func (p *Provider) wait(err error, tries int) time.Duration {
	e, ok := errors.AsType[*providers.Error](err)
	if !ok || e.RetryAfter > maxWait {
		return 0
	}
	switch {
	case e.Status == http.StatusTooManyRequests:
		return e.RetryAfter
	case e.Status != http.StatusInternalServerError && e.Status != http.StatusServiceUnavailable:
		return 0
	case e.RetryAfter > 0:
		return e.RetryAfter
	}
	backoff := busyWait << tries
	return backoff + rand.N(backoff/4) //nolint:gosec // jitter, so that clients do not come back together
}

func (p *Provider) pause(ctx context.Context, model string, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return p.cancelled(model, context.Cause(ctx))
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
func (c *call) attempt(ctx context.Context) (err error) {
	ctx, x := newExchange(ctx, c.p.firstByte, c.p.idle)
	defer x.stop()
	// The SDK panics over JSON of an unexpected shape. A panic of the consumer's
	// own goes on.
	inSDK := true
	defer func() {
		if inSDK && recover() != nil {
			err = c.p.unreadable(c.q.model)
		}
	}()
	// The iterator is ranged over once: each time sends a request.
	for resp, err := range c.p.client.Models.GenerateContentStream(ctx, c.q.model, nil, c.q.config()) {
		inSDK = false
		if err != nil {
			return c.p.callError(ctx, c.q.model, x, err)
		}
		if err := c.event(resp, x); err != nil {
			return err
		}
		inSDK = true
	}
	inSDK = false
	return c.end(ctx, x)
}

// event takes in one event of the stream.
func (c *call) event(resp *genai.GenerateContentResponse, x *exchange) error {
	if fault := x.events.last.fault; fault != "" {
		return c.p.statusError(c.q.model, 0, "", fault)
	}
	if err := c.take(resp, x.events.last); err != nil {
		return err
	}
	if c.reason != "" {
		x.idle = drainTime
	}
	return nil
}

// end judges a stream that gives no more events.
func (c *call) end(ctx context.Context, x *exchange) error {
	var err error
	if x.events != nil {
		err = x.events.err
	}
	cut := err != nil && !errors.Is(err, io.EOF)
	switch {
	case c.reason != "" && ctx.Err() == nil, c.reason != "" && errors.Is(context.Cause(ctx), errStalled):
		return c.finish() // whole, however its connection ended
	case context.Cause(ctx) != nil:
		return c.p.cancelled(c.q.model, context.Cause(ctx))
	case errors.Is(err, errLongEvent):
		return c.p.fail(providers.KindProtocol, c.q.model, err)
	case cut:
		return c.p.fail(providers.KindIncomplete, c.q.model, fmt.Errorf("the stream broke off before its end: %w", err))
	}
	return c.finish()
}
