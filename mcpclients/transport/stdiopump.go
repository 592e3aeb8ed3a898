package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

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
	frames := newFrameReader(stdout, maxFrame)
	frames.skipped = func(size int) bool { return !c.junk.add(size) }
	for {
		line, head, tail, err := frames.next()
		noise := false
		switch {
		case errors.Is(err, errEndless):
			return &FloodError{c.Noise()}
		case err != nil:
			return nil
		case line != nil:
			noise = !c.take(ctx, line)
		default:
			c.takeCut(head, tail)
		}
		if noise && c.junk.add(len(line)+1) {
			return &FloodError{c.Noise()}
		}
	}
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
func (c *stdio) takeCut(head, tail []byte) {
	m, ok := cutAnswer(head, tail)
	if !ok {
		c.keepNoise(head)
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
