package transport

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
)

const (
	// noticeTimeout bounds a cancellation notice, probeTimeout the ping that decides
	// whether a server that failed one request is lost.
	noticeTimeout = 2 * time.Second
	probeTimeout  = 3 * time.Second
)

// webState is what the connections over HTTP share: the end of the connection, its
// cause, and the work in the background that Close waits for.
type webState struct {
	mu      sync.Mutex // guards the fields below and the wait group's growth
	err     error
	probing bool
	closed  bool
	done    chan struct{}
	work    sync.WaitGroup
}

// lose ends the connection with err; the first cause stays.
func (w *webState) lose(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = err
		close(w.done)
	}
}

func (w *webState) Done() <-chan struct{} { return w.done }

func (w *webState) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// shut marks the connection as closed on this side; no work begins after it.
func (w *webState) shut() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.lose(ErrClosed)
}

// spawn runs f in a goroutine that Close waits for; false means that the connection
// is closed.
func (w *webState) spawn(f func()) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return false
	}
	w.work.Go(f)
	return true
}

// background runs f for at most limit, unless the connection is closed.
func (w *webState) background(limit time.Duration, f func(context.Context)) {
	w.spawn(func() {
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		f(ctx)
	})
}

// untilDone is ctx, ended also by the end of the connection.
func (w *webState) untilDone(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	if !w.spawn(func() {
		select {
		case <-w.done:
			cancel(w.Err())
		case <-ctx.Done():
		}
	}) {
		cancel(ErrClosed)
	}
	return ctx, func() { cancel(context.Canceled) }
}

// probe asks in the background whether the server still answers after a request
// failed with err, and gives the connection up if it does not. One broken exchange
// must not end the others.
func (w *webState) probe(err error, ping func(context.Context) error) {
	w.mu.Lock()
	busy := w.probing || w.err != nil
	w.probing = true
	w.mu.Unlock()
	if busy {
		return
	}
	w.background(probeTimeout, func(ctx context.Context) {
		pingErr := ping(ctx)
		_, answered := errors.AsType[*RPCError](pingErr)
		w.mu.Lock()
		w.probing = false
		w.mu.Unlock()
		if pingErr != nil && !answered {
			w.lose(err)
		}
	})
}

// refusal turns an HTTP status that refuses a request into one of the package's
// kinds. It returns nil for what leaves open whether the request had its effect.
func refusal(method string, status *StatusError) error {
	switch {
	case status.Code == http.StatusUnauthorized || status.Code == http.StatusForbidden:
		return Permanent("the server refused the credentials (HTTP %d): set the headers it needs", status.Code)
	case status.RPC != nil:
		e := *status.RPC
		e.Method = method
		return &e
	case status.Code < 500:
		return status
	}
	return nil
}

// brokenOff is the error of a request whose exchange failed on the way.
func brokenOff(err error) error {
	if errors.Is(err, ErrUnavailable) {
		return trimmed(err) // it says itself that nothing was done
	}
	kind := ErrLost
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		kind = ErrUnavailable // nothing was sent
	}
	return fmt.Errorf("%w: %w", kind, trimmed(err))
}

// sessionEnded is the error of a request that was refused for its session.
func sessionEnded(err error) error {
	return fmt.Errorf("%w: %w", ErrSession, trimmed(err))
}

// trimmed drops the layers of an error that repeat one another, or show the address
// with what may be secret in it.
func trimmed(err error) error {
	if status, ok := errors.AsType[*StatusError](err); ok {
		return status
	}
	if outer, ok := errors.AsType[*url.Error](err); ok {
		return outer.Err
	}
	if errors.Is(err, transport.ErrSessionTerminated) {
		return errors.New("the server answered HTTP 404 Not Found")
	}
	return err
}
