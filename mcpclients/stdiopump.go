package mcpclients

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// read takes messages from standard output until it ends.
func (c *stdio) read() {
	defer close(c.readEnd)
	ctx, stop := context.WithCancel(context.Background()) // for what the server asks
	defer stop()
	frames := newFrameReader(c.proc.stdout, maxFrame)
	for {
		line, head, tail, err := frames.next()
		switch {
		case err != nil:
			return
		case line != nil:
			c.take(ctx, line)
		default:
			c.takeCut(head, tail)
		}
	}
}

// take handles one line. Lines that are no JSON-RPC are ignored: programs print
// banners and logs.
func (c *stdio) take(ctx context.Context, line []byte) {
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return
	}
	var m message
	if line[0] != '{' || json.Unmarshal(line, &m) != nil {
		c.keepNoise(line)
		return
	}
	switch {
	case m.Method != "" && !isNull(m.ID):
		c.asked(ctx, &m)
	case m.Method != "":
		c.notify(m.Method, m.Params)
	case m.Result != nil || m.Error != nil:
		c.calls.resolve(&m)
	default:
		c.keepNoise(line)
	}
}

// asked answers a request of the server. What takes a person is done in the
// background, while there is room.
func (c *stdio) asked(ctx context.Context, m *message) {
	if m.Method != methodElicit {
		c.trySend(answerServer(ctx, c.answer, m))
		return
	}
	select {
	case c.asking <- struct{}{}:
	default:
		return
	}
	c.all.Go(func() {
		defer func() { <-c.asking }()
		c.trySend(answerServer(ctx, c.answer, m))
	})
}

// takeCut answers the request whose answer was too long to keep.
func (c *stdio) takeCut(head, tail []byte) {
	m, ok := cutAnswer(head, tail)
	if !ok {
		c.keepNoise(head)
		return
	}
	c.calls.resolve(m)
}

func (c *stdio) keepNoise(line []byte) {
	c.noiseMu.Lock()
	defer c.noiseMu.Unlock()
	if c.noise == "" {
		line = line[:min(len(line), 4*tailLine)]
		c.noise = cutText(visible(strings.ToValidUTF8(string(line), "?")), 120)
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
				_, _ = c.proc.stdin.Write(append(out.frame, '\n'))
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
	_, _ = io.Copy(c.stderr, c.proc.stderr)
}

// watch waits for the end, whoever brings it, and takes everything down. It looks
// at the process itself, not only at the pipe, which a grandchild may hold open.
func (c *stdio) watch(drained <-chan struct{}) {
	err := ErrClosed
	select {
	case <-c.closing:
	case <-c.proc.exited:
		drain(c.readEnd)
		err = fmt.Errorf("%w: %w", ErrLost, c.proc.outcome())
	case <-c.readEnd:
		drain(c.proc.exited)
		err = fmt.Errorf("%w: %w", ErrLost, c.proc.outcome())
	}
	c.calls.fail(err)
	c.err = err
	close(c.done)
	c.proc.stop()
	drain(c.readEnd)
	drain(drained)
	closeAll([]*os.File{c.proc.stdout, c.proc.stderr})
}

// drain waits for ch, but no longer than stopDrain.
func drain(ch <-chan struct{}) {
	timer := time.NewTimer(stopDrain)
	defer timer.Stop()
	select {
	case <-ch:
	case <-timer.C:
	}
}
