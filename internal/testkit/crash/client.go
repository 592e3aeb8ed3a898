package crash

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
)

// errGone means that the child ended before it answered.
var errGone = errors.New("the child is gone")

// longestLine bounds a message of the child, in bytes.
const longestLine = 64 << 20

// Serve answers JSON-RPC messages, one a line, each in its own goroutine, until in
// ends. It is what a child does.
func Serve(ctx context.Context, in io.Reader, out io.Writer, handle func(ctx context.Context, msg json.RawMessage) json.RawMessage) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	var writing sync.Mutex
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, longestLine)
	for lines.Scan() {
		msg := bytes.Clone(lines.Bytes())
		wg.Go(func() {
			answer := append(handle(ctx, msg), '\n')
			writing.Lock()
			defer writing.Unlock()
			_, _ = out.Write(answer) // nobody listens any more: the end of in follows
		})
	}
	return lines.Err()
}

// client is a child and the requests that it has not answered.
type client struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stderr bytes.Buffer
	gone   chan struct{}

	mu      sync.Mutex
	next    int
	waiting map[int]chan answer
}

type answer struct {
	ID     int             `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *rpcError       `json:"error"`
}

// rpcError is what the server says against a request.
type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *rpcError) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

func start(ctx context.Context, cmd *exec.Cmd) (*client, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c := &client{cmd: cmd, gone: make(chan struct{}), waiting: map[int]chan answer{}}
	cmd.Stderr = &c.stderr
	var err error
	if c.stdin, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go c.read(stdout)
	return c, nil
}

func (c *client) read(stdout io.Reader) {
	defer close(c.gone)
	lines := bufio.NewScanner(stdout)
	lines.Buffer(nil, longestLine)
	for lines.Scan() {
		var a answer
		if json.Unmarshal(lines.Bytes(), &a) != nil {
			continue // the torn last line of a killed child
		}
		c.mu.Lock()
		to := c.waiting[a.ID]
		delete(c.waiting, a.ID)
		c.mu.Unlock()
		if to != nil {
			to <- a
		}
	}
}

// call asks the child. An answer that was written counts, even when the child is
// dead by the time it is read.
func (c *client) call(ctx context.Context, method string, params, result any) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	to := make(chan answer, 1)
	c.mu.Lock()
	c.next++
	id := c.next
	c.waiting[id] = to
	msg, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	if err == nil {
		_, _ = c.stdin.Write(append(msg, '\n')) // a broken pipe shows as gone
	}
	c.mu.Unlock()
	if err != nil {
		return err
	}
	select {
	case a := <-to:
		return a.decode(method, result)
	case <-c.gone:
	case <-ctx.Done():
		return fmt.Errorf("%s: %w", method, ctx.Err())
	}
	select {
	case a := <-to:
		return a.decode(method, result)
	default:
		return errGone
	}
}

func (a answer) decode(method string, result any) error {
	if a.Error != nil {
		return fmt.Errorf("%s: %w", method, a.Error)
	}
	return json.Unmarshal(a.Result, result)
}

// end kills the child and waits until it is gone and all it wrote is read.
func (c *client) end(kill func(*exec.Cmd) error) error {
	select {
	case <-c.gone:
		_ = c.cmd.Wait() // how it ended is told by what it wrote
		return fmt.Errorf("the child ended by itself: %s", bytes.TrimSpace(c.stderr.Bytes()))
	default:
	}
	err := kill(c.cmd)
	<-c.gone
	_ = c.cmd.Wait() // it was killed
	return err
}
