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
	"molar/internal/text"
)

// read takes messages from standard output until it ends.
func (c *stdio) read() {
	defer close(c.readEnd)
	c.cut = c.readFrom(c.proc.Stdout)
}

// readFrom returns nil at the end of the output, else why it was read no further.
func (c *stdio) readFrom(stdout io.Reader) error {
	ctx, stop := context.WithCancel(context.Background()) // for what the server asks
	defer stop()
	src := &endless{Reader: stdout, junk: &c.junk}
	for line, err := range sse.Lines(src, frames()) {
		src.size = 0
		noise := false
		switch {
		case errors.Is(err, errEndless):
			return &FloodError{c.Noise()}
		case err != nil:
			return nil
		case line.Long != nil:
			c.takeCut(line.Long)
		default:
			noise = !c.take(ctx, line.Text)
		}
		if noise && c.junk.add(len(line.Text)+1) {
			return &FloodError{c.Noise()}
		}
	}
	return nil
}

// errEndless is the end of a line that is read no further.
var errEndless = errors.New("a line without end")

// endless ends a line that is no message, because it is too long, and never ends.
type endless struct {
	io.Reader
	junk *flood
	size int // of what came since the last line
}

func (r *endless) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if r.size += n; r.size > maxFrame && r.junk.add(n) {
		return 0, errEndless
	}
	return n, err
}

// take handles one line and reports whether it was a message. Others are ignored:
// programs print banners and logs.
func (c *stdio) take(ctx context.Context, line []byte) bool {
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return false
	}
	m, ok := ReadMessage(line)
	switch {
	case !ok:
		c.keepNoise(line)
	case m.Method != "" && !IsNull(m.ID):
		c.asked(ctx, m)
	case m.Method != "":
		c.notify(m.Method, m.Params)
	case m.Result != nil || m.Error != nil:
		c.calls.resolve(m)
	}
	return ok
}

// asked answers a request of the server. What takes a person is done in the
// background, while there is room.
func (c *stdio) asked(ctx context.Context, m *Message) {
	if m.Method != MethodElicit {
		c.trySend(AnswerServer(ctx, c.answer, m))
		return
	}
	select {
	case c.asking <- struct{}{}:
	default:
		return
	}
	c.all.Go(func() {
		defer func() { <-c.asking }()
		c.trySend(AnswerServer(ctx, c.answer, m))
	})
}

// takeCut answers the request whose answer was too long to keep.
func (c *stdio) takeCut(ends *sse.Ends) {
	m, ok := cutAnswer(ends)
	if !ok {
		c.keepNoise(ends.Head)
		c.calls.failOnly(errUnreadable)
		return
	}
	c.calls.resolve(m)
}

func (c *stdio) keepNoise(line []byte) {
	c.noiseMu.Lock()
	defer c.noiseMu.Unlock()
	if c.noise == "" {
		c.noise = text.Line(line, 120)
	}
}

// write sends queued frames. It ends with the connection: closing standard input
// ends a write that is stuck.
func (c *stdio) write() {
	defer c.freeQueue()
	for {
		select {
		case <-c.done:
			return
		case out := <-c.queue:
			if out.ctx == nil || out.ctx.Err() == nil {
				// A failed write needs no report: the watcher sees the process end, or the
				// caller's deadline comes.
				_, _ = c.proc.Stdin.Write(append(out.frame, '\n'))
			}
			c.budget.Release(int64(len(out.frame)))
		}
	}
}

// freeQueue gives back the room of what will not be written, for callers that wait
// for it.
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

// drain keeps standard error from filling its pipe.
func (c *stdio) drain(drained chan<- struct{}) {
	defer close(drained)
	_, _ = io.Copy(c.stderr, c.proc.Stderr)
}

// watch waits for the end, whoever brings it, and takes everything down. It looks
// at the process itself, not only at the pipe, which a grandchild may hold open.
func (c *stdio) watch(drained <-chan struct{}) {
	err := ErrClosed
	select {
	case <-c.closing:
	case <-c.proc.Exited:
		drain(c.readEnd)
		err = fmt.Errorf("%w: %w", ErrLost, c.proc.Outcome())
	case <-c.readEnd:
		if c.cut != nil {
			err = fmt.Errorf("%w: %w", ErrLost, c.cut)
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
	CloseAll([]*os.File{c.proc.Stdout, c.proc.Stderr})
}

// stopDrain is how long output that is still in the pipes is waited for.
const stopDrain = 200 * time.Millisecond

// drain waits for ch, but no longer than stopDrain.
func drain(ch <-chan struct{}) {
	timer := time.NewTimer(stopDrain)
	defer timer.Stop()
	select {
	case <-ch:
	case <-timer.C:
	}
}
