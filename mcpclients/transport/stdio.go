package transport

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"molar/internal/text"
	"molar/mcpclients/lastwords"
)

const (
	// lastLines is how many lines of a running server's standard error are shown, firstNoise how much
	// of the first line that was not a message, in bytes.
	lastLines, firstNoise = 20, 120
	// queueLen and queueBytes bound the unsent frames to a server that does not read.
	queueLen   = 256
	queueBytes = 8 << 20
)

// stdio is a connection to a child process. Its goroutines are a reader, a writer, a drain for
// standard error and a watcher; only the watcher tears it down.
type stdio struct {
	proc          *process
	calls         inflight
	notify        Notify
	answer        Answerer
	questionSlots chan struct{} // room for questions to a person
	// stderr holds what the server wrote to standard error, stray what it wrote to standard output
	// that was not a message.
	stderr, stray *lastwords.Record

	queue  chan outgoing
	budget *semaphore.Weighted

	closing   chan struct{} // closed by Close
	closeOnce sync.Once
	readEnd   chan struct{} // closed when the reader has ended
	done      chan struct{} // closed when the connection has ended
	err       error         // set before done is closed
	all       sync.WaitGroup

	junk      flood // used by the reader only
	stopCause error // why the reader stopped; set before readEnd is closed
}

// An outgoing frame is dropped if its ctx ends before it is written; ctx is nil if no caller
// waits.
type outgoing struct {
	ctx   context.Context //nolint:containedctx // it belongs to the frame, not to the connection
	frame []byte
}

// dialStdio starts the server's process.
func dialStdio(cfg *ServerConfig, host Host, notify Notify) (*stdio, error) {
	if err := checkDir(cfg); err != nil {
		return nil, err
	}
	cmd := exec.Command(program(cfg.Command), cfg.Args...) //nolint:noctx // the shutdown ladder ends it
	cmd.Dir = cfg.Dir
	cmd.Env = env(cfg.Env)
	proc, err := start(cmd)
	if err != nil {
		return nil, startError(cfg, err)
	}
	hidden := secrets(cfg)
	c := &stdio{
		proc: proc, notify: notify, answer: host.Answer, questionSlots: make(chan struct{}, maxServerRequests),
		stderr: lastwords.NewRecord(hidden), stray: lastwords.NewRecord(hidden),
		queue: make(chan outgoing, queueLen), budget: semaphore.NewWeighted(queueBytes),
		closing: make(chan struct{}), readEnd: make(chan struct{}), done: make(chan struct{}),
	}
	drained := make(chan struct{})
	c.all.Go(c.read)
	c.all.Go(c.write)
	c.all.Go(func() { c.drain(drained) })
	c.all.Go(func() { c.watch(drained) })
	return c, nil
}

// An AdvisedError already says what a person can do.
type AdvisedError struct{ Err error }

func (e *AdvisedError) Error() string { return e.Err.Error() }
func (e *AdvisedError) Unwrap() error { return e.Err }

// LookPath finds the program of a stdio server in PATH. A server may be this program itself, which is
// then found by its own name also if it is not in PATH.
func LookPath(command string) (string, error) {
	path, err := exec.LookPath(command)
	if self, errSelf := os.Executable(); errors.Is(err, exec.ErrNotFound) && errSelf == nil && command == strings.TrimSuffix(filepath.Base(self), ".exe") {
		return self, nil
	}
	return path, err
}

// program returns what to start for a command: the command itself if it is not found, so that the
// error is that of the start.
func program(command string) string {
	if path, err := LookPath(command); err == nil {
		return path
	}
	return command
}

func checkDir(cfg *ServerConfig) error {
	if cfg.Dir == "" {
		return nil
	}
	if info, err := os.Stat(cfg.Dir); err != nil || !info.IsDir() {
		return &AdvisedError{fmt.Errorf("directory %q not found: create it or correct %s.cwd", cfg.Dir, cfg.Place())}
	}
	return nil
}

func startError(cfg *ServerConfig, err error) error {
	switch {
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return Permanent("command %q not found: install it or correct mcpServers.%s.command", cfg.Command, cfg.Name)
	case errors.Is(err, fs.ErrPermission):
		return Permanent("command %q may not be run: make it executable or correct mcpServers.%s.command", cfg.Command, cfg.Name)
	default:
		return fmt.Errorf("start command %q: %w", cfg.Command, err)
	}
}

func (c *stdio) Request(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	id, answer, err := c.calls.add(method)
	if err != nil {
		<-c.done // the watcher closes it next; a caller that sees the end uses a new connection
		return nil, err
	}
	defer c.calls.remove(id)
	frame, err := encodeRequest(id, method, params)
	if err != nil {
		return nil, err
	}
	if err := c.send(ctx, outgoing{ctx: ctx, frame: frame}); err != nil {
		return nil, err
	}
	select {
	case r := <-answer:
		return r.Result, r.Err
	case <-ctx.Done():
		if method != MethodInitialize {
			c.tryNotify(MethodCancelled, cancelParams(id))
		}
		return nil, context.Cause(ctx)
	}
}

func (c *stdio) Notify(ctx context.Context, method string, params json.RawMessage) error {
	frame, err := encodeNotification(method, params)
	if err != nil {
		return err
	}
	return c.send(ctx, outgoing{frame: frame})
}

// send queues a frame. It waits for room until ctx ends.
func (c *stdio) send(ctx context.Context, out outgoing) error {
	size := int64(len(out.frame))
	if size > maxSent {
		return fmt.Errorf("the message has %d bytes, more than the %d that are sent to a server: shorten the arguments", size, maxSent)
	}
	if err := c.budget.Acquire(ctx, size); err != nil {
		return context.Cause(ctx)
	}
	select {
	case c.queue <- out:
		return nil
	case <-ctx.Done():
		c.budget.Release(size)
		return context.Cause(ctx)
	case <-c.done:
		c.budget.Release(size)
		return notSent(c.err)
	}
}

// trySend queues a frame only if there is room: a server that does not read gets no answer.
func (c *stdio) trySend(frame []byte) {
	if frame == nil || !c.budget.TryAcquire(int64(len(frame))) {
		return
	}
	select {
	case c.queue <- outgoing{frame: frame}:
	default:
		c.budget.Release(int64(len(frame)))
	}
}

func (c *stdio) tryNotify(method string, params json.RawMessage) {
	if frame, err := encodeNotification(method, params); err == nil {
		c.trySend(frame)
	}
}

func (c *stdio) Done() <-chan struct{} { return c.done }

// Err returns why the connection ended; valid once Done is closed.
func (c *stdio) Err() error {
	select {
	case <-c.done:
		return c.err
	default:
		return nil
	}
}

// Stderr returns the last lines of the process's standard error.
func (c *stdio) Stderr() []string { return c.stderr.Last(lastLines) }

// Said returns what the process wrote to standard error since the time, all that was kept if it is
// zero. If that tells of no error but its other output does, the other output comes first.
func (c *stdio) Said(since time.Time) []string {
	lines, stray := c.stderr.Since(since), c.stray.Since(since)
	if since.IsZero() {
		lines = c.stderr.Lines()
	}
	if _, tells := lastwords.Why(lines); tells {
		return lines
	}
	if _, tells := lastwords.Why(stray); tells {
		return append(stray, lines...)
	}
	return lines
}

// Noise returns the first line on standard output that was not a message.
func (c *stdio) Noise() string {
	for _, line := range c.stray.Lines() {
		return text.Shorten(strings.TrimSpace(line), firstNoise)
	}
	return ""
}

func (c *stdio) Close() error {
	c.closeOnce.Do(func() { close(c.closing) })
	c.all.Wait()
	return nil
}
