package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"molar/internal/sse"
)

// read handles messages from standard output until it ends.
func (c *stdio) read() {
	defer close(c.readEnd)
	c.stopCause = c.readFrom(c.proc.Stdout)
}

// readFrom returns nil at the end of the output, else why it stopped reading.
func (c *stdio) readFrom(stdout io.Reader) error {
	ctx, stop := context.WithCancel(context.Background()) // for the server's requests
	defer stop()
	src := &endlessGuard{Reader: &brake{Reader: stdout, busy: c.calls.busy, end: c.closing}, junk: &c.junk}
	for line, err := range sse.Lines(src, frames()) {
		src.size = 0
		noise := false
		switch {
		case errors.Is(err, errEndless):
			return &FloodError{c.Noise()}
		case err != nil:
			return nil
		case line.Long != nil:
			c.resolveCut(line.Long)
		default:
			noise = !c.handle(ctx, line.Text)
		}
		if noise && c.junk.add(len(line.Text)+1) {
			return &FloodError{c.Noise()}
		}
	}
	return nil
}

// errEndless means that a line was cut off because no line end came within the limit.
var errEndless = errors.New("a line without end")

// endlessGuard cuts off a line that is too long for a message and does not end.
type endlessGuard struct {
	io.Reader
	junk *flood
	size int // bytes since the last line
}

func (r *endlessGuard) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if r.size += n; r.size > maxFrame && r.junk.add(n) {
		return 0, errEndless
	}
	return n, err
}

// handle handles one line and reports whether it was a message. It ignores other lines: programs
// print banners and logs.
func (c *stdio) handle(ctx context.Context, line []byte) bool {
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return false
	}
	m, ok := incoming(line)
	switch {
	case !ok:
		c.recordStray(line)
	case m.Method != "" && !IsNull(m.ID):
		c.answerRequest(ctx, m)
	case m.Method != "":
		c.notify(m.Method, m.Params)
	case m.Result != nil || m.Error != nil:
		c.calls.resolve(m)
	}
	return ok
}

// answerRequest answers a server's request. Questions to a person are answered in the background, and
// dropped if maxServerRequests are open.
func (c *stdio) answerRequest(ctx context.Context, m *rpcMessage) {
	if m.Method != MethodElicit {
		c.trySend(answerServer(ctx, c.answer, m))
		return
	}
	select {
	case c.questionSlots <- struct{}{}:
	default:
		return
	}
	c.all.Go(func() {
		defer func() { <-c.questionSlots }()
		c.trySend(answerServer(ctx, c.answer, m))
	})
}

// resolveCut resolves the request whose answer was too long to keep.
func (c *stdio) resolveCut(ends *sse.Ends) {
	m, ok := cutAnswer(ends)
	if !ok {
		c.recordStray(ends.Head)
		c.calls.failOnly(errUnreadable)
		return
	}
	c.calls.resolve(m)
}

func (c *stdio) recordStray(line []byte) {
	_, _ = c.stray.Write(line) // it cannot fail
	_, _ = c.stray.Write([]byte{'\n'})
}

// write sends queued frames until the connection ends; closing standard input unblocks a stuck
// write.
func (c *stdio) write() {
	defer c.freeQueue()
	for {
		select {
		case <-c.done:
			return
		case out := <-c.queue:
			if out.ctx == nil || out.ctx.Err() == nil {
				// A failed write needs no report: either the watcher sees the process end, or the
				// caller's deadline passes.
				_, _ = c.proc.Stdin.Write(append(out.frame, '\n'))
			}
			c.budget.Release(int64(len(out.frame)))
		}
	}
}

// freeQueue releases the budget of unsent frames, for callers that wait for room.
func (c *stdio) freeQueue() {
	for {
		select {
		case out := <-c.queue:
			c.budget.Release(int64(len(out.frame)))
		default:
			return
		}
	}
}

// drain empties standard error so that its pipe never fills.
func (c *stdio) drain(drained chan<- struct{}) {
	defer close(drained)
	_, _ = io.Copy(c.stderr, &brake{Reader: c.proc.Stderr, busy: c.calls.busy, end: c.closing})
}

// watch waits for the end, whatever its cause, and tears everything down. It watches the process
// itself and not only the pipe, which a grandchild may hold open.
func (c *stdio) watch(drained <-chan struct{}) {
	err := ErrClosed
	select {
	case <-c.closing:
	case <-c.proc.Exited:
		drain(c.readEnd)
		err = fmt.Errorf("%w: %w", ErrLost, c.proc.Outcome())
	case <-c.readEnd:
		if c.stopCause != nil {
			err = fmt.Errorf("%w: %w", ErrLost, c.stopCause)
			break
		}
		drain(c.proc.Exited)
		err = fmt.Errorf("%w: %w", ErrLost, c.proc.Outcome())
	}
	c.calls.fail(err)
	c.err = err
	close(c.done)
	c.proc.Stop()
	drain(c.readEnd)
	drain(drained)
	closeAll([]*os.File{c.proc.Stdout, c.proc.Stderr})
}

// stopDrain bounds the wait for output that is still in the pipes.
const stopDrain = 200 * time.Millisecond

// drain waits for ch, at most stopDrain.
func drain(ch <-chan struct{}) {
	timer := time.NewTimer(stopDrain)
	defer timer.Stop()
	select {
	case <-ch:
	case <-timer.C:
	}
}
