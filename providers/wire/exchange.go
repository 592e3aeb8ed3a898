package wire

import (
	"context"
	"errors"
	"io"
	"iter"
	"time"
)

// Defaults of [Limits].
const (
	DefaultFirst = 180 * time.Second
	DefaultIdle  = 20 * time.Second
)

const (
	// drainTime is how long an ended stream may take to close, so that its connection can be
	// reused.
	drainTime = 250 * time.Millisecond
	// lateTime is how long usage and the end marker may come after the finish reason.
	lateTime = 2 * time.Second
)

// The causes of an exchange that this side cancelled.
var (
	ErrNoOutput = errors.New("no output in time")
	ErrStalled  = errors.New("the stream stalled")
	// ErrStopped ends a call whose consumer broke off.
	ErrStopped = errors.New("the consumer broke off")
)

// Limits bound the waits for a service: First for the first output, Idle for each later one. Zero
// means the defaults.
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

// An Exchange is one request and its answer. Its clock runs only while waiting for the service,
// never while the consumer works.
type Exchange struct {
	cancel context.CancelCauseFunc
	first  *time.Timer // bounds the wait for the first output
	idle   *time.Timer // bounds each wait after it
	wait   time.Duration
	left   time.Duration // of the current wait
	since  time.Time     // start of the current wait; zero while the consumer works
	begun  bool
	ended  bool
}

// Begin starts the wait for the first output, which ends at until if that is set and earlier than
// the limit. The caller ends the exchange.
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

// End stops the clock and releases the connection.
func (x *Exchange) End() {
	x.first.Stop()
	x.idle.Stop()
	x.cancel(nil)
}

// Output records output: from now on Idle bounds each wait.
func (x *Exchange) Output() {
	if !x.begun {
		x.begun = true
		x.first.Stop()
	}
	x.left = x.wait
}

// Progress records any message.
func (x *Exchange) Progress() { x.left = x.wait }

// Patience sets the bound of each later wait.
func (x *Exchange) Patience(wait time.Duration) {
	if !x.ended {
		x.wait, x.left = wait, wait
	}
}

// Last records the model's end: little can follow.
func (x *Exchange) Last() {
	x.wait, x.ended = min(x.wait, lateTime), true
	x.Output()
}

// Drain reads the rest after the end of an answer, so that the connection can be reused.
func (x *Exchange) Drain(src io.Reader) {
	x.Last()
	x.left = drainTime
	_, _ = io.CopyN(io.Discard, src, maxRest)
}

// maxRest bounds the rest after the end of an answer, in bytes.
const maxRest = 64 << 10

// Watch returns the body with the clock running during reads.
func (x *Exchange) Watch(body io.ReadCloser) io.ReadCloser { return &watched{body, x} }

type watched struct {
	io.ReadCloser
	x *Exchange
}

func (w *watched) Read(p []byte) (int, error) {
	w.x.start()
	n, err := w.ReadCloser.Read(p)
	w.x.stop()
	return n, err
}

// Waits returns the sequence with the clock running while it gets its next pair.
func Waits[K, V any](x *Exchange, seq iter.Seq2[K, V]) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		x.start()
		defer x.stop()
		for k, v := range seq {
			x.stop()
			if !yield(k, v) {
				return
			}
			x.start()
		}
	}
}

// start starts the clock of a wait, unless the first output is still awaited.
func (x *Exchange) start() {
	if x.begun {
		x.since = time.Now()
		x.idle.Reset(x.left)
	}
}

// stop stops it, if it runs.
func (x *Exchange) stop() {
	if !x.since.IsZero() {
		x.idle.Stop()
		x.left -= time.Since(x.since)
		x.since = time.Time{}
	}
}
