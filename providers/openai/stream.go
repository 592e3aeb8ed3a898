package openai

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"

	"molar/internal/sse"
	"molar/providers"
	"molar/providers/wire"
	"molar/schemas"
)

// Stream runs one model call, in one request.
func (p *Provider) Stream(ctx context.Context, req providers.Request) iter.Seq2[providers.Chunk, error] {
	return wire.Stream(func(emit wire.Emit) error {
		s, err := p.prepare(req)
		if err != nil {
			return err
		}
		ctx, x := wire.Begin(ctx, p.limits, req.Until)
		defer x.End()
		c := &call{p: p, req: req, x: x, sent: s}
		c.answer = wire.Answer{
			Emit: emit, X: x, Set: s.set, Speech: wire.NewSpeech(&p.unopened, req, wire.Printed(s.set, req)),
			Forbid: req.ForbidCalls, After: req.After, Fail: c.unreadableCall,
		}
		if s.api == APIResponses {
			c.reader = &responsesReader{call: c}
		} else {
			c.reader = &chatReader{call: c}
		}
		return c.answer.Failed(s.lessons.Tools.Settle(ctx, req.After, c.exchange(ctx)))
	})
}

// A sending is a request in the form of one wire.
type sending struct {
	*endpoint
	model   string
	body    body
	set     wire.ToolSet
	headers map[string]string
	extra   json.RawMessage
	// offers is set if the request offers tools, shown if it holds files of tool results and none of
	// a person's, thoughts if it holds earlier reasoning.
	offers, shown, thoughts bool
	// mediaForms is how many other forms the files of results have.
	mediaForms int
	// notes tell what of the request this wire cannot express.
	notes []string
}

// A body is the JSON body of a request.
type body interface {
	// parameters returns the optional fields, in the order in which they are dropped.
	parameters() []wire.Parameter
}

// prepare builds the request for the wire of its model.
func (p *Provider) prepare(req providers.Request) (*sending, error) {
	if req.Model == "" {
		return nil, p.faults.Fail(providers.KindInvalid, "", errors.New("no model is named: set "+p.setting+".model"))
	}
	explicit := cmp.Or(req.Thinking, p.tuning.Thinking) != ""
	req = p.thinkers.Shape(req).With(p.tuning)
	s := &sending{endpoint: p.chat, model: req.Model, headers: req.Headers, extra: req.ExtraBody}
	fill := p.chatBody
	if p.apis.of(req.Model) == APIResponses {
		s.endpoint, fill = p.response, p.responsesBody
	}
	s.set = s.lessons.Tools.Set(req.Tools, req.After)
	s.offers = len(s.set) > 0
	if err := fill(s, req, explicit); err != nil {
		return nil, p.faults.Fail(providers.KindInvalid, req.Model, err)
	}
	s.lessons.Drop(s.model, s.body.parameters())
	return s, nil
}

// post sends a request.
func (p *Provider) post(ctx context.Context, s *sending) (*http.Response, error) {
	var data bytes.Buffer
	enc := json.NewEncoder(&data)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s.body); err != nil {
		return nil, p.faults.Fail(providers.KindInvalid, s.model, err)
	}
	whole, err := wire.Merge(data.Bytes(), s.extra)
	if err != nil {
		return nil, p.faults.Fail(providers.KindInvalid, s.model, err)
	}
	req, forget, err := wire.NewPost(ctx, s.url, whole)
	if err != nil {
		return nil, err
	}
	defer forget()
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	return p.do(req, s.headers)
}

// A call is one run of Stream.
type call struct {
	p      *Provider
	req    providers.Request
	x      *wire.Exchange
	sent   *sending
	answer wire.Answer
	reader reader

	refused bool   // the model refused
	reason  string // the finish reason, in the wire's words
	usage   *schemas.Usage
}

// A reader reads the answer of one wire.
type reader interface {
	// event handles an event and reports whether it ended the answer. Its error is errCut if the stream
	// ended inside the event.
	event(e sse.Event) (done bool, err error)
	// whole reads an answer that is not streamed. Its error is that of JSON if it is none.
	whole(data []byte) error
	// finish emits what is left of an answer that has ended.
	finish() error
}

// exchange sends the request and reads its whole answer.
func (c *call) exchange(ctx context.Context) error {
	for _, note := range c.sent.notes {
		if err := c.answer.Emit(providers.Chunk{Note: note}); err != nil {
			return err
		}
	}
	resp, err := c.p.post(ctx, c.sent)
	if err != nil {
		return c.p.faults.Transport(ctx, c.req.Model, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return c.refusal(ctx, resp)
	}
	start, body, err := wire.First(c.x.Watch(resp.Body))
	switch {
	case err != nil:
		return c.ended(ctx, err)
	case start == '{':
		return c.whole(ctx, body)
	case start == '<':
		return c.fail(providers.KindProtocol, errors.New(c.p.faults.Page()+", which usually ends in /v1"))
	}
	return c.stream(ctx, body)
}

// stream reads an event stream.
func (c *call) stream(ctx context.Context, body io.Reader) error {
	for e, err := range wire.Events(body) {
		if err != nil {
			return c.ended(ctx, err)
		}
		c.x.Progress()
		done, err := c.reader.event(e)
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

// whole reads an answer that is not streamed.
func (c *call) whole(ctx context.Context, body io.Reader) error {
	data, err := wire.All(body)
	if err != nil || context.Cause(ctx) != nil {
		return c.p.faults.Broken(ctx, c.req.Model, err)
	}
	err = c.reader.whole(data)
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		if syntax.Error() == "unexpected end of JSON input" {
			return c.p.faults.Broken(ctx, c.req.Model, io.ErrUnexpectedEOF)
		}
		return c.fail(providers.KindProtocol, fmt.Errorf("the answer cannot be read: %w", err))
	}
	return err
}

// errCut means that the stream ended inside an event.
var errCut = errors.New("the stream ended inside a message")

// unreadable returns the error of an event that is not JSON.
func (c *call) unreadable(e sse.Event, err error) error {
	if e.Cut {
		return errCut
	}
	return c.fail(providers.KindProtocol, fmt.Errorf("a message of the stream cannot be read: %w", err))
}

// ended ends a stream without an end mark. That is an error unless the finish reason was seen.
func (c *call) ended(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	if c.reason != "" && (cause == nil || errors.Is(cause, wire.ErrStalled)) {
		return c.reader.finish()
	}
	return c.p.faults.Broken(ctx, c.req.Model, err)
}

func (c *call) fail(kind providers.Kind, err error) *providers.Error {
	return c.p.faults.Fail(kind, c.req.Model, err)
}

// unreadableCall returns the error of a printed call that cannot be read.
func (c *call) unreadableCall(err error) *providers.Error { return c.fail(providers.KindProtocol, err) }

// do sends a request with the key and further headers, which override others.
func (p *Provider) do(req *http.Request, headers map[string]string) (*http.Response, error) {
	if p.key != "" {
		req.Header.Set("Authorization", "Bearer "+p.key)
	}
	for name, value := range headers {
		req.Header.Set(name, value)
	}
	return p.http.Do(req)
}

// decode decodes a message. It treats a field of the wrong type as missing.
func decode(data []byte, v any) error {
	err := json.Unmarshal(data, v)
	if _, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return nil
	}
	return err
}
