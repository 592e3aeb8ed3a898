package transport

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync/atomic"
)

// plainConn is a connection to a server of plain JSON-RPC: one POST to /message for each request,
// whose body is the answer, and GET /health as ping. Such a server sends no messages of its own.
type plainConn struct {
	client          *http.Client
	message, health string
	lastID          atomic.Int64
	life
}

// dialPlain connects after one health check.
func dialPlain(ctx context.Context, cfg *ServerConfig, client *http.Client) (*plainConn, error) {
	base, err := url.Parse(cfg.URL)
	if err != nil {
		return nil, Permanent("the url cannot be used: correct mcpServers.%s.url", cfg.Name)
	}
	c := &plainConn{
		client:  guardedClient(client, cfg.Headers, true),
		message: base.JoinPath("message").String(), health: base.JoinPath("health").String(),
		life: newLife(),
	}
	if err := c.checkHealth(ctx); err != nil {
		return nil, err
	}
	return c, nil
}

// checkHealth reports an error if the server is down. A server without /health passes.
func (c *plainConn) checkHealth(ctx context.Context) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.health, nil)
	if err != nil {
		return Permanent("the url cannot be used: correct it")
	}
	resp, err := c.client.Do(r)
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return exchangeError(err)
	}
	defer func() { _ = resp.Body.Close() }()
	switch status := readStatus(r, resp); {
	case status.Code >= 500:
		return fmt.Errorf("%w: its /health says so: %w", ErrUnavailable, status)
	case status.Code == http.StatusUnauthorized, status.Code == http.StatusForbidden:
		return refusal(MethodPing, status)
	}
	return nil
}

func (c *plainConn) Request(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	if err := c.Err(); err != nil {
		return nil, notSent(err)
	}
	if method == MethodPing {
		return json.RawMessage(`{}`), c.checkHealth(ctx)
	}
	id := c.lastID.Add(1)
	frame, err := encodeRequest(id, method, params)
	if err != nil {
		return nil, err
	}
	ctx, cancel := c.untilDone(ctx)
	defer cancel()
	body, err := c.post(ctx, frame)
	switch {
	case err == nil:
		return readAnswer(body, id, method)
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	err, uncertain := c.classify(method, err)
	if uncertain {
		c.probe(err, c.checkHealth)
	}
	return nil, err
}

func (c *plainConn) post(ctx context.Context, frame []byte) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.message, bytes.NewReader(frame))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json")
	resp, err := c.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	return io.ReadAll(resp.Body) // the guard caps it
}

// Notify sends a message and ignores a refusal: these servers need not support notifications.
func (c *plainConn) Notify(ctx context.Context, method string, params json.RawMessage) error {
	frame, err := encodeNotification(method, params)
	if err != nil {
		return err
	}
	_, err = c.post(ctx, frame)
	if _, answered := errors.AsType[*StatusError](err); answered || err == nil {
		return nil
	}
	return exchangeError(err)
}

// Close waits for background work.
func (c *plainConn) Close() error {
	c.markClosed()
	c.work.Wait()
	return nil
}
