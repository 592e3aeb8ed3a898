package ollama

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"
	"time"

	"molar/providers"
	"molar/schemas"
)

// drainTime is how long an ended stream may take to close, so that its
// connection can be used again.
const drainTime = 250 * time.Millisecond

// callIdle is how long the stream may be silent while a call may be on its way.
const callIdle = 120 * time.Second

// errStopped unwinds a call whose consumer broke off.
var errStopped = errors.New("the consumer broke off")

// errEmpty: the model was busy, and nothing came of it. The server drops calls
// that it cannot read without a word.
var errEmpty = errors.New("the model gave neither text nor a readable call")

// Stream runs one model call. It asks again, once each and only before any
// output, when the model's call could not be read and when nothing came at all;
// and with a larger window when the prompt did not fit and the model has one.
func (p *Provider) Stream(ctx context.Context, req providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		c := &call{p: p, req: req, yield: yield}
		err := c.run(ctx)
		if err != nil && !errors.Is(err, errStopped) {
			yield(providers.Chunk{}, err)
		}
	}
}

// A call is one run of Stream.
type call struct {
	p     *Provider
	req   providers.Request
	yield func(providers.Chunk, error) bool
	set   toolSet
	form  *form // set when the answer's format offers the tools

	reader   reader
	thinking strings.Builder
	texts    bool // text went out
	calls    int  // calls that went out
	usage    schemas.Usage
	ended    bool // the stream came to its end

	// What is done once at most.
	repaired, repeated, reformed bool
}

// attempt sends the request and reads its answer to the end.
func (c *call) attempt(ctx context.Context, chat *chatRequest) error {
	c.reader = c.newReader()
	c.thinking.Reset()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	first := time.AfterFunc(c.p.firstByte, func() { cancel(errNoOutput) })
	defer first.Stop()

	resp, err := c.p.post(ctx, chat)
	if err != nil {
		return c.p.transportError(ctx, c.req.Model, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return c.p.answerError(c.req.Model, resp)
	}
	lines := newLineReader(resp.Body)
	line, err := lines.next()
	first.Stop()
	if err == nil {
		c.p.left.Delete(fullName(c.req.Model))
		defer c.leave()
	}
	idle := time.AfterFunc(c.patience(), func() { cancel(errStalled) })
	defer idle.Stop()
	for ; err == nil; line, err = lines.next() {
		// While the consumer works, the server is not to blame for silence.
		idle.Stop()
		done, err := c.line(line, lines.cut)
		if c.ended = done; done {
			idle.Reset(drainTime)
			lines.drain()
		}
		if done || err != nil {
			return err
		}
		idle.Reset(c.patience())
	}
	return c.broken(ctx, err)
}

// leave remembers a stream that was cut short, see [call.stuck].
func (c *call) leave() {
	if !c.ended {
		c.p.left.Store(fullName(c.req.Model), true)
	}
}

// patience is how long the stream may be silent. The server is while it gathers a
// tool call.
func (c *call) patience() time.Duration {
	if len(c.set) > 0 && !c.texts {
		return max(c.p.idle, callIdle)
	}
	return c.p.idle
}

// broken explains a stream that ended before it was done.
func (c *call) broken(ctx context.Context, err error) error {
	switch {
	case errors.Is(context.Cause(ctx), errStalled):
		return c.p.fail(providers.KindTimeout, c.req.Model, fmt.Errorf("%w: nothing more for %v", errStalled, c.patience()))
	case context.Cause(ctx) != nil:
		return c.p.cancelled(c.req.Model, context.Cause(ctx))
	case errors.Is(err, errLongLine):
		return c.p.fail(providers.KindProtocol, c.req.Model, err)
	case errors.Is(err, io.EOF):
		err = io.ErrUnexpectedEOF
	}
	return c.p.fail(providers.KindIncomplete, c.req.Model, fmt.Errorf("the stream broke off before its end: %w", err))
}

// chatLine is a line of the stream. It is read into a type of ours because the
// package's own turns every number of a call's arguments into a float64.
type chatLine struct {
	Message struct {
		Content   string `json:"content"`
		Thinking  string `json:"thinking"`
		ToolCalls []struct {
			Function struct {
				Name      string          `json:"name"`
				Arguments json.RawMessage `json:"arguments"`
			} `json:"function"`
		} `json:"tool_calls"`
	} `json:"message"`
	Done            bool            `json:"done"`
	DoneReason      string          `json:"done_reason"`
	PromptEvalCount int             `json:"prompt_eval_count"`
	EvalCount       int             `json:"eval_count"`
	Error           json.RawMessage `json:"error"`
}

// line takes in one line and says whether the answer is done.
func (c *call) line(data []byte, cut bool) (done bool, err error) {
	var line chatLine
	if err := json.Unmarshal(data, &line); err != nil {
		if cut {
			return false, c.broken(context.Background(), io.ErrUnexpectedEOF)
		}
		return false, c.p.fail(providers.KindProtocol, c.req.Model, fmt.Errorf("a line of the stream cannot be read: %w", err))
	}
	if len(line.Error) > 0 && string(line.Error) != "null" {
		return false, c.p.streamError(c.req.Model, errorText(data))
	}
	if err := c.output(&line); err != nil {
		return line.Done, err
	}
	if !line.Done {
		return false, nil
	}
	return true, c.finish(&line)
}
