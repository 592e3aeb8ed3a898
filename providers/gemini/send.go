package gemini

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"

	"molar/providers/wire"
)

// An exchange is a request that the SDK makes, and its answer, which bypasses the SDK: it would
// round numbers, drop unknown fields, and panic on JSON of an unexpected shape.
type exchange struct {
	ctx  context.Context //nolint:containedctx // of the request: the SDK may end its own
	resp *http.Response
	err  error
}

// exchangeKey is the context key of a request's exchange. The SDK makes the request, so the
// context is the only way to pass it.
type exchangeKey struct{}

// send sends the query and returns the answer.
func (p *Provider) send(ctx context.Context, q *query) (*http.Response, error) {
	x := &exchange{ctx: ctx}
	var refused error
	// The iterator is ranged over once: each iteration sends a request.
	for _, err := range p.client.Models.GenerateContentStream(context.WithValue(ctx, exchangeKey{}, x), q.model, nil, q.config()) {
		refused = err
	}
	switch {
	case x.resp != nil, x.err != nil:
		return x.resp, x.err
	case refused != nil:
		return nil, errors.New(p.faults.Clean(refused.Error()))
	}
	return nil, errors.New("the SDK sent no request")
}

// diverted returns a client that passes answers to the exchange of the request.
func diverted(given *http.Client) *http.Client {
	client := wire.NewClient(given)
	if client.Transport == nil {
		client.Transport = http.DefaultTransport
	}
	client.Transport = transport{client.Transport}
	return client
}

type transport struct{ next http.RoundTripper }

// RoundTrip sends the request. The SDK gets an answer without events.
func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	x, ours := req.Context().Value(exchangeKey{}).(*exchange)
	if !ours {
		return t.next.RoundTrip(req)
	}
	x.resp, x.err = t.next.RoundTrip(req.WithContext(x.ctx)) //nolint:contextcheck // its own may end with the SDK
	if x.err != nil {
		return nil, x.err
	}
	return &http.Response{
		StatusCode: http.StatusOK, Status: "200 OK", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Body: io.NopCloser(strings.NewReader("")), Request: req,
	}, nil
}
