package transport

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strconv"
	"sync/atomic"
)

// inProcess carries messages to a handler in this process.
type inProcess struct {
	handler Handler
	session string
	lastID  atomic.Int64
	life
}

func newInProcess(h Handler) *inProcess {
	return &inProcess{handler: h, session: rand.Text(), life: newLife()}
}

func (c *inProcess) Request(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	answer := make(chan Reply, 1)
	if !c.spawn(func() {
		result, err := c.answer(ctx, method, params)
		answer <- Reply{Result: result, Err: err}
	}) {
		return nil, notSent(ErrClosed)
	}
	select {
	case r := <-answer:
		return r.Result, r.Err
	case <-ctx.Done():
		// The handler gets the same ctx, so no cancellation is sent.
		return nil, context.Cause(ctx)
	case <-c.done:
		return nil, ErrClosed
	}
}

// answer runs the handler and reads its response.
func (c *inProcess) answer(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	if result, failure, own, err := c.call(ctx, method, params); own || err != nil {
		if failure != nil {
			return nil, rpcErrorOf(method, failure)
		}
		return result, err
	}
	id := c.lastID.Add(1)
	frame, err := encodeRequest(id, method, params)
	if err != nil {
		return nil, err
	}
	raw, err := c.handle(ctx, frame)
	if err != nil {
		return nil, err
	}
	if result, ok := plainResult(raw, id); ok {
		return result, nil
	}
	return readAnswer(raw, id, method)
}

// plainResult cuts the result out of a response in the usual form without scanning it: two scans
// of a long result would dominate the cost. Invalid JSON fails when the result is decoded.
func plainResult(raw json.RawMessage, id int64) (json.RawMessage, bool) {
	prefix := make([]byte, 0, 64)
	prefix = append(prefix, `{"jsonrpc":"2.0","id":`...)
	prefix = strconv.AppendInt(prefix, id, 10)
	prefix = append(prefix, `,"result":`...)
	rest, ok := bytes.CutPrefix(raw, prefix)
	if !ok {
		return nil, false
	}
	return bytes.CutSuffix(rest, []byte("}"))
}

// call runs a method of a [Requester] and turns a panic into an error.
func (c *inProcess) call(ctx context.Context, method string, params json.RawMessage) (result, failure json.RawMessage, own bool, err error) {
	to, ok := c.handler.(Requester)
	if !ok {
		return nil, nil, false, nil
	}
	defer recovered(&err)
	result, failure, own = to.Request(ctx, method, params)
	return result, failure, own, nil
}

// handle runs the handler and turns a panic into an error.
func (c *inProcess) handle(ctx context.Context, frame []byte) (raw json.RawMessage, err error) {
	defer recovered(&err)
	return c.handler.Handle(ctx, c.session, frame), nil
}

// recovered turns a panic of the handler into an error.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("in-process server panicked: %v", p)
	}
}

func (c *inProcess) Notify(ctx context.Context, method string, params json.RawMessage) error {
	frame, err := encodeNotification(method, params)
	if err != nil {
		return err
	}
	handled := make(chan error, 1)
	if !c.spawn(func() {
		_, err := c.handle(ctx, frame)
		handled <- err
	}) {
		return ErrClosed
	}
	return <-handled
}

// Close waits for the handler to return from the calls under way.
func (c *inProcess) Close() error {
	c.markClosed()
	c.work.Wait()
	return nil
}
