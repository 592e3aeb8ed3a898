package wire

import (
	"context"
	"errors"
	"io"
	"time"
)

// Defaults of [Limits].
const (
	DefaultFirst = 180 * time.Second
	DefaultIdle  = 20 * time.Second
)

const (
	// drainTime is how long an ended stream may take to close, so that its connection
	// can be used again.
	drainTime = 250 * time.Millisecond
	// lateTime is how long usage and the mark of the end may come after the reason for
	// which the model ended.
	lateTime = 2 * time.Second
)

// The causes of a cancelled exchange that are ours.
var (
	ErrNoOutput = errors.New("no output in time")
	ErrStalled  = errors.New("the stream stalled")
	// ErrStopped unwinds a call whose consumer broke off.
	ErrStopped = errors.New("the consumer broke off")
)

// Limits are how patient a provider is. First bounds the wait for the first output, Idle
// every wait for more. Zero means the defaults.
type Limits struct{ First, Idle time.Duration }

// Complete fills in the defaults; negative limits are an error.
func (l Limits) Complete() (Limits, error) {
	if l.First < 0 || l.Idle < 0 {
		return l, errors.New("timeout: must not be negative")
	}
	if l.First == 0 {
		l.First = DefaultFirst
	}
	if l.Idle == 0 {
		l.Idle = DefaultIdle
	}
	return l, nil
}

// An Exchange is one request and its answer. Its clock runs only while the service is
// waited for, never while the consumer works.
type Exchange struct {
	cancel context.CancelCauseFunc
	first  *time.Timer // bounds the wait for the first output
	idle   *time.Timer // bounds each wait after it
	wait   time.Duration
	left   time.Duration // of the wait for what comes next
	begun  bool
	ended  bool
}

// Begin starts the wait for the first output, which ends at until if that is sooner than
// the limit and not zero. The caller ends the exchange.
func Begin(ctx context.Context, l Limits, until time.Time) (context.Context, *Exchange) {
	if !until.IsZero() {
		l.First = min(l.First, max(time.Until(until), 0))
	}
	ctx, cancel := context.WithCancelCause(ctx)
	x := &Exchange{cancel: cancel, wait: l.Idle}
	x.first = time.AfterFunc(l.First, func() { cancel(ErrNoOutput) })
	x.idle = time.AfterFunc(l.Idle, func() { cancel(ErrStalled) })
	x.idle.Stop()
	return ctx, x
}

// End stops the clock and lets go of the connection.
func (x *Exchange) End() {
	x.first.Stop()
	x.idle.Stop()
	x.cancel(nil)
}

// Output tells that output came: from now on only the wait for more is bounded.
func (x *Exchange) Output() {
	if !x.begun {
		x.begun = true
		x.first.Stop()
	}
	x.left = x.wait
}

// Progress tells that a message came, be it output or not.
func (x *Exchange) Progress() { x.left = x.wait }

// Patience sets the bound of each wait for more.
func (x *Exchange) Patience(wait time.Duration) {
	if !x.ended {
		x.wait, x.left = wait, wait
	}
}

// Last tells that the model has ended, and that little can follow.
func (x *Exchange) Last() {
	x.wait, x.ended = min(x.wait, lateTime), true
	x.Output()
}

// Drain reads what little may follow the end of an answer, so that the connection can be
// used again.
func (x *Exchange) Drain(src io.Reader) {
	x.Last()
	x.left = drainTime
	_, _ = io.CopyN(io.Discard, src, maxRest)
}

// maxRest is how much may follow the end of an answer.
const maxRest = 64 << 10

// Watch returns the body with the clock running whenever it is read.
func (x *Exchange) Watch(body io.ReadCloser) io.ReadCloser { return &watched{body, x} }

type watched struct {
	io.ReadCloser
	x *Exchange
}

func (w *watched) Read(p []byte) (int, error) {
	if !w.x.begun {
		return w.ReadCloser.Read(p)
	}
	start := time.Now()
	w.x.idle.Reset(w.x.left)
	n, err := w.ReadCloser.Read(p)
	w.x.idle.Stop()
	w.x.left -= time.Since(start)
	return n, err
}
