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

// Serve answers JSON-RPC messages, one per line, each in its own goroutine, until in ends.
// Children use it.
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
			_, _ = out.Write(answer) // after a failed write, in ends soon
		})
	}
	return lines.Err()
}

// client is a child and its unanswered requests.
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

// rpcError is an error response of the server.
type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *rpcError) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

// Codes of the server's errors.
const (
	// codeConflict: the lease is no longer valid.
	codeConflict = -32003
	// codeBusy: another turn holds the conversation.
	codeBusy = -32004
	// codeInternal: an internal error of the server, such as a database that does not answer.
	codeInternal = -32603
)

var (
	// errConflict means that a turn can no longer be saved under its lease.
	errConflict = errors.New("conflict")
	// errBusy means that the request is to be repeated, as the conversation is busy.
	errBusy = errors.New("busy")
	// errTrouble means that the child temporarily cannot answer.
	errTrouble = errors.New("trouble")
)

// Is matches the server's codes to the errors of this package.
func (e *rpcError) Is(target error) bool {
	return target == errConflict && e.Code == codeConflict || target == errBusy && e.Code == codeBusy ||
		target == errTrouble && e.Code == codeInternal
}

// startPiped starts a child that speaks JSON-RPC over its standard streams.
func startPiped(ctx context.Context, cmd *exec.Cmd) (session, error) {
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
			continue // the incomplete last line of a killed child
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

func (c *client) begin(ctx context.Context, conversation string, t *turn) error {
	var l struct {
		Lease    json.RawMessage `json:"lease"`
		Finished *struct {
			TurnID string `json:"turn_id"`
		} `json:"finished"`
	}
	err := c.call(ctx, "memory/begin_turn", map[string]any{"conversation_id": conversation, "key": t.key}, &l)
	if err != nil {
		return err
	}
	t.lease = l.Lease
	if l.Finished != nil {
		t.state = promised // a promise too: the client gets the stored answer
	}
	return nil
}

func (c *client) finish(ctx context.Context, _ string, t *turn) error {
	var s struct {
		TurnID string `json:"turn_id"`
	}
	return c.call(ctx, "memory/save_turn", map[string]any{
		"lease": t.lease, "turn_id": t.id, "key": t.key, "user": "ask " + t.id, "answer": "say " + t.id,
	}, &s)
}

func (c *client) messages(ctx context.Context, conversation string) ([]message, error) {
	var got struct {
		Messages []message `json:"messages"`
	}
	err := c.call(ctx, "memory/get_all_messages", map[string]any{"conversation_id": conversation, "full": true}, &got)
	return got.Messages, err
}

// call sends a request to the child. An answer that was written counts, even if the child is dead
// when it is read.
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
		_, _ = c.stdin.Write(append(msg, '\n')) // a broken pipe is reported as errGone
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

// end kills the child and waits until it has ended and all its output is read.
func (c *client) end(kill func(*exec.Cmd) error) error {
	select {
	case <-c.gone:
		_ = c.cmd.Wait() // its output tells how it ended
		return fmt.Errorf("the child ended by itself: %s", bytes.TrimSpace(c.stderr.Bytes()))
	default:
	}
	err := kill(c.cmd)
	<-c.gone
	_ = c.cmd.Wait() // it was killed
	return err
}
