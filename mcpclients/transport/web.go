package transport

import (
	"context"
	"encoding/json"
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

// A life is shared by the connections without a process: whether the connection has ended, why, and the
// background work that Close waits for.
type life struct {
	mu      sync.Mutex // guards the fields below and the wait group's growth
	err     error
	probing bool
	closed  bool
	done    chan struct{}
	work    sync.WaitGroup
}

func newLife() life { return life{done: make(chan struct{})} }

// lose ends the connection with err; the first cause wins.
func (l *life) lose(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.err = err
		close(l.done)
	}
}

func (l *life) Done() <-chan struct{} { return l.done }

func (l *life) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// markClosed marks the connection as closed by the host; no work starts after it.
func (l *life) markClosed() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.lose(ErrClosed)
}

// spawn runs f in a goroutine that Close waits for; it returns false if the connection is closed.
func (l *life) spawn(f func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.work.Go(f)
	return true
}

// background runs f for at most limit, unless the connection is closed.
func (l *life) background(limit time.Duration, f func(context.Context)) {
	l.spawn(func() {
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		f(ctx)
	})
}

// sendCancelled tells the server in the background that nobody waits for a request.
func (l *life) sendCancelled(id int64, notify func(context.Context, string, json.RawMessage) error) {
	l.background(noticeTimeout, func(ctx context.Context) { _ = notify(ctx, MethodCancelled, cancelParams(id)) })
}

// untilDone returns a ctx that also ends with the connection.
func (l *life) untilDone(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	if !l.spawn(func() {
		select {
		case <-l.done:
			cancel(l.Err())
		case <-ctx.Done():
		}
	}) {
		cancel(ErrClosed)
	}
	return ctx, func() { cancel(context.Canceled) }
}

// probe pings the server in the background after a request failed with err, and ends the
// connection if there is no answer. One broken exchange must not fail the others.
func (l *life) probe(err error, ping func(context.Context) error) {
	l.mu.Lock()
	busy := l.probing || l.err != nil
	l.probing = true
	l.mu.Unlock()
	if busy {
		return
	}
	l.background(probeTimeout, func(ctx context.Context) {
		pingErr := ping(ctx)
		_, answered := errors.AsType[*RPCError](pingErr)
		l.mu.Lock()
		l.probing = false
		l.mu.Unlock()
		if pingErr != nil && !answered {
			l.lose(err)
		}
	})
}

// classify maps a failed exchange to an error of the package, and ends the connection if its login
// or session is gone. uncertain is set if the request may have had its effect.
func (l *life) classify(method string, err error) (mapped error, uncertain bool) {
	status, answered := errors.AsType[*StatusError](err)
	login := AsLogin(err)
	switch {
	case login != nil && login.Lacking:
		return permanentLogin(login), false
	case login != nil:
		err = permanentLogin(login)
	case errors.Is(err, transport.ErrSessionTerminated), answered && status.sessionLost():
		err = fmt.Errorf("%w: %w", ErrSession, innerError(err))
	default:
		if answered {
			if refused := refusal(method, status); refused != nil {
				return refused, false
			}
		}
		return exchangeError(err), true
	}
	l.lose(err)
	return err, false
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
