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
	"strings"
	"time"

	"molar/internal/sse"
)

const (
	// maxServerRequests bounds the answers that are on their way to a server; what it
	// asks beyond that gets none.
	maxServerRequests = 8
	// maxReply is how much of the body of an acknowledged POST is read.
	maxReply = 64 << 10
)

// sseConn is a connection of the older HTTP and SSE transport: every message of
// the server comes on one stream, every message to it is a POST of its own. When
// the stream ends, everything under way fails at once.
type sseConn struct {
	client   *http.Client
	headers  map[string]string
	endpoint string
	notify   Notify
	answer   Answerer
	calls    inflight
	stop     context.CancelFunc
	answers  chan struct{} // room for answers to the server
	webState
}

// read takes the server's messages until the stream ends.
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
		if m, ok := ReadMessage(e.Data); ok {
			c.take(ctx, m)
		}
	}
	c.end(fmt.Errorf("%w: the event stream ended", ErrLost))
}

func (c *sseConn) take(ctx context.Context, m *Message) {
	switch {
	case m.Method != "" && !IsNull(m.ID):
		c.asked(ctx, m)
	case m.Method != "":
		c.notify(m.Method, m.Params)
	case m.Result != nil || m.Error != nil:
		c.calls.resolve(m)
	}
}

// asked answers a request of the server in the background, while there is room. ctx
// is the stream's.
func (c *sseConn) asked(ctx context.Context, m *Message) {
	select {
	case c.answers <- struct{}{}:
	default:
		return
	}
	c.spawn(func() {
		defer func() { <-c.answers }()
		frame := AnswerServer(ctx, c.answer, m)
		ctx, cancel := context.WithTimeout(ctx, noticeTimeout)
		defer cancel()
		_ = c.post(ctx, frame)
	})
}

// end fails everything under way, and all that comes later.
func (c *sseConn) end(err error) {
	c.lose(err)
	c.calls.fail(c.Err())
}

func (c *sseConn) Request(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	id, answer, err := c.calls.add(method)
	if err != nil {
		return nil, err
	}
	defer c.calls.remove(id)
	frame, err := EncodeRequest(id, method, params)
	if err != nil {
		return nil, err
	}
	postCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	posted := make(chan error, 1)
	if !c.spawn(func() { defer cancel(); posted <- c.post(postCtx, frame) }) {
		cancel()
		return nil, NotSent(ErrClosed)
	}
	for {
		select {
		case r := <-answer:
			// The POST is acknowledged any moment, and leaves its connection to the next one: a
			// request that is broken off may take that down with it.
			time.AfterFunc(noticeTimeout, cancel)
			return r.Result, r.Err
		case err := <-posted:
			if err != nil && ctx.Err() == nil {
				return nil, c.classify(method, err)
			}
			posted = nil
		case <-ctx.Done():
			cancel()
			if method != MethodInitialize {
				c.sendCancelled(id)
			}
			return nil, context.Cause(ctx)
		}
	}
}

// classify turns a POST that went wrong into one of the package's kinds. Whether the
// connection is lost is seen by the stream alone, but for the session.
func (c *sseConn) classify(method string, err error) error {
	if login := AsLogin(err); login != nil {
		err = wantsLogin(login)
		if !login.Lacking {
			c.end(err)
		}
		return err
	}
	status, answered := errors.AsType[*StatusError](err)
	if answered && (status.Code == http.StatusNotFound || status.Code == http.StatusBadRequest && strings.Contains(strings.ToLower(status.text), "session")) {
		err = sessionEnded(err)
		c.end(err)
		return err
	}
	if answered {
		if refused := refusal(method, status); refused != nil {
			return refused
		}
	}
	return brokenOff(err)
}

func (c *sseConn) sendCancelled(id int64) {
	frame, err := EncodeNotification(MethodCancelled, CancelParams(id, "the caller no longer waits"))
	if err != nil {
		return
	}
	c.background(noticeTimeout, func(ctx context.Context) { _ = c.post(ctx, frame) })
}

// post sends one message. The guard turns a refusal into a [*StatusError].
func (c *sseConn) post(ctx context.Context, frame []byte) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.endpoint, bytes.NewReader(frame))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	c.setHeaders(r, "application/json, text/event-stream")
	resp, err := c.client.Do(r)
	if err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxReply)) // so that the connection can be used again
	return resp.Body.Close()
}

func (c *sseConn) Notify(ctx context.Context, method string, params json.RawMessage) error {
	if err := c.Err(); err != nil {
		return NotSent(err)
	}
	frame, err := EncodeNotification(method, params)
	if err != nil {
		return err
	}
	if err := c.post(ctx, frame); err != nil {
		return c.classify(method, err)
	}
	return nil
}

// Close ends the stream and waits for what is under way in the background.
func (c *sseConn) Close() error {
	c.shut()
	c.calls.fail(ErrClosed)
	c.stop()
	c.work.Wait()
	return nil
}
