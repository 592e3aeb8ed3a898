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
	// noticeTimeout bounds a cancellation notice, probeTimeout the ping that decides whether a
	// server that failed a request is lost.
	noticeTimeout = 2 * time.Second
	probeTimeout  = 3 * time.Second
)

// webState is shared by the connections over HTTP: whether the connection has ended, why, and the
// background work that Close waits for.
type webState struct {
	mu      sync.Mutex // guards the fields below and the wait group's growth
	err     error
	probing bool
	closed  bool
	done    chan struct{}
	work    sync.WaitGroup
}

// lose ends the connection with err; the first cause wins.
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

// markClosed marks the connection as closed by the host; no work starts after it.
func (w *webState) markClosed() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.lose(ErrClosed)
}

// spawn runs f in a goroutine that Close waits for; it returns false if the connection is closed.
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

// untilDone returns a ctx that also ends with the connection.
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

// probe pings the server in the background after a request failed with err, and ends the
// connection if there is no answer. One broken exchange must not fail the others.
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

// refusal maps an HTTP status that refuses a request to an error of the package. It returns nil
// if the request may have had its effect.
func refusal(method string, status *StatusError) error {
	switch {
	case status.Code == http.StatusUnauthorized || status.Code == http.StatusForbidden:
		return &permanentError{&credentialsError{status}}
	case status.RPC != nil:
		e := *status.RPC
		e.Method = method
		return &e
	case status.Code < 500:
		return status
	}
	return nil
}

// A credentialsError is a refusal of who asks.
type credentialsError struct{ status *StatusError }

func (e *credentialsError) Error() string {
	return fmt.Sprintf("the server refused the credentials (HTTP %d): set the headers it needs", e.status.Code)
}

func (e *credentialsError) Unwrap() error { return e.status }

// exchangeError returns the error of a request whose exchange broke off.
func exchangeError(err error) error {
	if errors.Is(err, ErrUnavailable) {
		return innerError(err) // it already means that nothing was done
	}
	kind := ErrLost
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		kind = ErrUnavailable // nothing was sent
	}
	return fmt.Errorf("%w: %w", kind, innerError(err))
}

// sessionEnded returns the error of a request that was refused for its session.
func sessionEnded(err error) error {
	return fmt.Errorf("%w: %w", ErrSession, innerError(err))
}

// innerError drops the layers of an error that repeat one another, or show the URL with possible
// secrets.
func innerError(err error) error {
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
