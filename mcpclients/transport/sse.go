package transport

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"molar/internal/sse"
)

const (
	// maxServerRequests bounds the concurrent answers to a server; requests beyond it are
	// dropped.
	maxServerRequests = 8
	// maxReply bounds how much of the body of an acknowledged POST is read, in bytes.
	maxReply = 64 << 10
)

// sseConn is a connection of the older HTTP and SSE transport: the server sends every message on
// one stream, the client sends each in its own POST. The end of the stream fails everything under
// way at once.
type sseConn struct {
	client   *http.Client
	endpoint string
	notify   Notify
	answer   Answerer
	calls    inflight
	answers  errgroup.Group // to the server
	life
}

// read handles the server's messages until the stream ends.
func (c *sseConn) read(ctx context.Context, body io.ReadCloser, events iter.Seq2[sse.Event, error]) {
	defer func() { _ = body.Close() }()
	for e, err := range events {
		if err != nil {
			break
		}
		if e.Long != nil {
			if m, ok := cutAnswer(e.Long); ok {
				c.calls.resolve(m)
			} else {
				c.calls.failOnly(errUnreadable)
			}
			continue
		}
		if m, ok := incoming(e.Data); ok {
			c.handle(ctx, m)
		}
	}
	c.lose(fmt.Errorf("%w: the event stream ended", ErrLost))
}

func (c *sseConn) handle(ctx context.Context, m *rpcMessage) {
	switch {
	case m.Method != "" && !IsNull(m.ID):
		c.answerRequest(ctx, m)
	case m.Method != "":
		c.notify(m.Method, m.Params)
	case m.Result != nil || m.Error != nil:
		c.calls.resolve(m)
	}
}

// answerRequest answers a server's request in the background, and drops it if maxServerRequests are under
// way. ctx is the stream's.
func (c *sseConn) answerRequest(ctx context.Context, m *rpcMessage) {
	c.answers.TryGo(func() error {
		frame := answerServer(ctx, c.answer, m)
		ctx, cancel := context.WithTimeout(ctx, noticeTimeout)
		defer cancel()
		_ = c.post(ctx, frame)
		return nil
	})
}

func (c *sseConn) Request(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	id, answer, err := c.calls.add(method)
	if err != nil {
		return nil, err
	}
	defer c.calls.remove(id)
	frame, err := encodeRequest(id, method, params)
	if err != nil {
		return nil, err
	}
	postCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	posted := make(chan error, 1)
	if !c.spawn(func() { defer cancel(); posted <- c.post(postCtx, frame) }) {
		cancel()
		return nil, notSent(ErrClosed)
	}
	for {
		select {
		case r := <-answer:
			// The POST will be acknowledged soon, which frees its connection for the next
			// request; cancelling it now could close that connection.
			time.AfterFunc(noticeTimeout, cancel)
			return r.Result, r.Err
		case err := <-posted:
			if err != nil && ctx.Err() == nil {
				err, _ = c.classify(method, err)
				return nil, err
			}
			posted = nil
		case <-ctx.Done():
			cancel()
			if method != MethodInitialize {
				c.sendCancelled(id, c.Notify)
			}
			return nil, context.Cause(ctx)
		}
	}
}

// post sends one message. The guard turns a refusal into a [*StatusError].
func (c *sseConn) post(ctx context.Context, frame []byte) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.endpoint, bytes.NewReader(frame))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	resp, err := c.client.Do(r)
	if err != nil {
		if status, answered := errors.AsType[*StatusError](err); answered {
			status.session = true // the endpoint names it
		}
		return err
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxReply)) // so that the connection can be reused
	return resp.Body.Close()
}

func (c *sseConn) Notify(ctx context.Context, method string, params json.RawMessage) error {
	if err := c.Err(); err != nil {
		return notSent(err)
	}
	frame, err := encodeNotification(method, params)
	if err != nil {
		return err
	}
	if err = c.post(ctx, frame); err != nil {
		err, _ = c.classify(method, err)
	}
	return err
}

// Close ends the stream and waits for background work.
func (c *sseConn) Close() error {
	c.markClosed()
	c.work.Wait()
	return c.answers.Wait()
}
