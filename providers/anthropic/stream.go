package anthropic

import (
	"context"
	"errors"
	"io"
	"iter"
	"net/http"

	"molar/providers"
	"molar/providers/wire"
	"molar/schemas"
)

// Stream runs one model call, in one request.
func (p *Provider) Stream(ctx context.Context, req providers.Request) iter.Seq2[providers.Chunk, error] {
	return wire.Stream(func(emit wire.Emit) error {
		b, set, err := p.prepare(req)
		if err != nil {
			return err
		}
		ctx, x := wire.Begin(ctx, p.limits, req.Until)
		defer x.End()
		c := &call{p: p, req: req, x: x}
		c.answer = wire.Answer{
			Emit: emit, X: x, Set: set, Speech: wire.NewSpeech(&p.unopened, req, wire.Printed(set, req)),
			Forbid: req.ForbidCalls, After: req.After, Fail: c.unreadableCall,
		}
		return c.answer.Failed(p.lessons.Tools.Settle(ctx, req.After, c.exchange(ctx, b)))
	})
}

// A call is one run of Stream.
type call struct {
	p      *Provider
	req    providers.Request
	x      *wire.Exchange
	answer wire.Answer

	reason string // the stop reason
	blocks blocks
	usage  usage
	// silent is set within a block of thinking or of a call, where the service may pause for long: it
	// sends only whole arguments, and often no thinking at all.
	silent bool
}

// exchange sends the request and reads its whole answer.
func (c *call) exchange(ctx context.Context, b *body) error {
	resp, err := c.p.post(ctx, b)
	if err != nil {
		return c.p.faults.Transport(ctx, c.req.Model, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return c.refusal(ctx, b, resp)
	}
	start, body, err := wire.First(c.x.Watch(resp.Body))
	switch {
	case err != nil:
		return c.ended(ctx, err)
	case start == '{':
		return c.whole(ctx, body)
	case start == '<':
		return c.fail(providers.KindProtocol, errors.New(c.p.faults.Page()))
	}
	return c.stream(ctx, body)
}

// stream reads an event stream.
func (c *call) stream(ctx context.Context, body io.Reader) error {
	for e, err := range wire.Events(body) {
		if err != nil {
			return c.ended(ctx, err)
		}
		done, err := c.event(e)
		if errors.Is(err, errCut) {
			continue // the cause comes next
		}
		if done {
			c.x.Drain(body)
		}
		if done || err != nil {
			return err
		}
	}
	return c.ended(ctx, io.EOF)
}

// errCut means that the stream ended inside an event.
var errCut = errors.New("the stream ended inside a message")

// ended returns the error of a stream without an end mark; nil if the stop reason was seen.
func (c *call) ended(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	if c.reason != "" && (cause == nil || errors.Is(cause, wire.ErrStalled)) {
		return c.finish()
	}
	return c.p.faults.Broken(ctx, c.req.Model, err)
}

func (c *call) fail(kind providers.Kind, err error) *providers.Error {
	return c.p.faults.Fail(kind, c.req.Model, err)
}

// version is the version of the API, see https://platform.claude.com/docs/en/api/versioning.
const version = "2023-06-01"

// do sends a request with the key and further headers, which override others.
func (p *Provider) do(req *http.Request, headers map[string]string) (*http.Response, error) {
	req.Header.Set("Anthropic-Version", version)
	if p.key != "" {
		req.Header.Set("X-Api-Key", p.key)
	}
	for name, value := range headers {
		req.Header.Set(name, value)
	}
	return p.http.Do(req)
}

// headers returns the further headers of requests that name no model call.
func (p *Provider) headers() map[string]string { return schemas.RevealAll(p.tuning.Headers) }

// unreadableCall returns the error of a printed call that cannot be read.
func (c *call) unreadableCall(err error) *providers.Error { return c.fail(providers.KindProtocol, err) }
