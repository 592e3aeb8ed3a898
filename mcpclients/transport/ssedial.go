package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"molar/internal/sse"
)

// dialSSE opens the stream and waits until the server has named its endpoint.
func dialSSE(ctx context.Context, cfg *ServerConfig, host Host, client *http.Client, notify Notify) (*sseConn, error) {
	// The stream outlives the dialing.
	stream, stop := context.WithCancel(context.Background())
	c := &sseConn{
		client: guardedClient(withLogin(client, cfg, host.Login), cfg.Headers, false), notify: notify, answer: host.Answer,
		life: newLife(),
	}
	c.answers.SetLimit(maxServerRequests)
	unlink := context.AfterFunc(ctx, stop)
	body, err := c.open(stream, cfg.URL)
	if err != nil {
		stop()
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, err
	}
	events := sse.Events(body, frames())
	if err := c.findEndpoint(events, cfg.URL); err != nil {
		stop()
		_ = body.Close()
		if ctx.Err() != nil {
			return nil, fmt.Errorf("the server opened a stream but named no endpoint: %w", context.Cause(ctx))
		}
		return nil, err
	}
	if !unlink() { // ctx ended just now and stopped the stream
		_ = body.Close()
		return nil, context.Cause(ctx)
	}
	c.work.Go(func() { c.read(stream, body, events) })
	c.work.Go(func() { // whatever ends the connection fails the requests under way
		<-c.done
		stop()
		c.calls.fail(c.Err())
	})
	return c, nil
}

// open requests the stream.
func (c *sseConn) open(ctx context.Context, address string) (io.ReadCloser, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, Permanent("the url cannot be used: correct it")
	}
	r.Header.Set("Accept", "text/event-stream")
	resp, err := c.client.Do(r)
	if login := AsLogin(err); login != nil {
		return nil, permanentLogin(login)
	}
	if err != nil {
		return nil, exchangeError(err)
	}
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if resp.StatusCode == http.StatusOK && media == "text/event-stream" {
		return resp.Body, nil
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode == http.StatusOK {
		return nil, fmt.Errorf("the server answered %q instead of an event stream: check the url and the type", media)
	}
	status := readStatus(r, resp)
	switch {
	case resp.StatusCode == http.StatusUnauthorized, resp.StatusCode == http.StatusForbidden:
		return nil, refusal(MethodInitialize, status)
	case status.legacy():
		return nil, fmt.Errorf("%w: it offers no event stream there", status)
	default:
		return nil, status
	}
}

// findEndpoint reads up to the event with the POST address. The address must be on the same host,
// or the configured headers would go elsewhere.
func (c *sseConn) findEndpoint(events iter.Seq2[sse.Event, error], address string) error {
	for e, err := range events {
		if err != nil {
			break
		}
		if e.Name != "endpoint" {
			continue
		}
		base, err := url.Parse(address)
		if err != nil {
			return Permanent("the url cannot be used: correct it")
		}
		target, err := base.Parse(strings.TrimSpace(string(e.Data)))
		if err != nil || target.Scheme != base.Scheme || target.Host != base.Host {
			return errors.New("the server names an endpoint on another host: use the address that it gives itself as url")
		}
		c.endpoint = target.String()
		return nil
	}
	return fmt.Errorf("%w: the stream ended before the server named its endpoint", ErrLost)
}
