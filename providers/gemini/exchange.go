package gemini

import (
	"context"
	"io"
	"net/http"
	"time"
)

// maxErrorBody is how much of an error's body is read.
const maxErrorBody = 64 << 10

// An exchange is one request and what our transport learns of its answer: the SDK
// hands on neither the headers of an error nor how a stream ended.
type exchange struct {
	header http.Header  // of an answer that is no stream
	events *eventReader // nil until a stream begins

	cancel context.CancelCauseFunc
	first  *time.Timer // until the first event
	idle   time.Duration
}

// exchangeKey finds the exchange of a request. The SDK makes the request, so the
// context is the only way to it.
type exchangeKey struct{}

// newExchange starts the wait for the first event. The caller calls stop.
func newExchange(ctx context.Context, firstByte, idle time.Duration) (context.Context, *exchange) {
	ctx, cancel := context.WithCancelCause(ctx)
	x := &exchange{cancel: cancel, idle: idle}
	x.first = time.AfterFunc(firstByte, func() { cancel(errNoOutput) })
	return context.WithValue(ctx, exchangeKey{}, x), x
}

func (x *exchange) stop() {
	x.first.Stop()
	x.cancel(nil)
}

// A transport puts our readers around the bodies of answers.
type transport struct{ next http.RoundTripper }

// RoundTrip sends the request and wraps the body of its answer.
func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(req)
	x, ours := req.Context().Value(exchangeKey{}).(*exchange)
	if err != nil || !ours {
		return resp, err
	}
	if resp.StatusCode >= 200 && resp.StatusCode < 300 {
		x.events = newEventReader(resp.Body, x)
		resp.Body = x.events
		return resp, nil
	}
	x.header = resp.Header
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(resp.Body, maxErrorBody), resp.Body}
	return resp, nil
}
