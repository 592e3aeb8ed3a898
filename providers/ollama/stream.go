package ollama

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"
	"time"

	"molar/internal/sse"
	"molar/providers"
	"molar/providers/wire"
)

// callIdle is how long the stream may be silent while a call may be under way: the server is
// silent while it collects one.
const callIdle = 120 * time.Second

// errEmpty means that the model ended without output. The server silently drops calls that it
// cannot parse.
var errEmpty = errors.New("the model gave neither text nor a readable call")

// Stream runs one model call, in one request.
func (p *Provider) Stream(ctx context.Context, req providers.Request) iter.Seq2[providers.Chunk, error] {
	return wire.Stream(func(emit wire.Emit) error {
		ctx, x := wire.Begin(ctx, p.limits, req.Until)
		defer x.End()
		c := &call{p: p, req: req, x: x}
		chat, err := c.prepare(ctx)
		if err != nil {
			return err
		}
		c.answer = wire.Answer{
			Emit: emit, X: x, Set: c.set, Speech: wire.NewSpeech(&p.unopened, req, c.reader()),
			Forbid: req.ForbidCalls, Written: c.form != nil, After: req.After, Fail: c.unreadableCall,
		}
		if c.form != nil && req.After == nil {
			if err := emit(providers.Chunk{Note: "tools were offered through the answer's format"}); err != nil {
				return err
			}
		}
		return c.answer.Failed(p.lessons.Tools.Settle(ctx, req.After, c.again(ctx, chat, c.exchange(ctx, chat))))
	})
}

// A call is one run of Stream.
type call struct {
	p    *Provider
	req  providers.Request
	x    *wire.Exchange
	set  wire.ToolSet
	form *form // set when the answer's format offers the tools

	answer   wire.Answer
	thinking strings.Builder
	ended    bool // the stream ended normally
}

// reader returns the maker of the answer's call reader.
func (c *call) reader() func() wire.Reader {
	if c.form == nil {
		return wire.Printed(c.set, c.req)
	}
	return func() wire.Reader { return &formReader{form: c.form} }
}

// exchange sends the request and reads its whole answer.
func (c *call) exchange(ctx context.Context, chat *chatRequest) error {
	resp, err := c.p.post(ctx, chat)
	if err != nil {
		return c.p.faults.Transport(ctx, c.req.Model, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return c.p.answerError(c.req.Model, resp)
	}
	start, body, err := wire.First(c.x.Watch(resp.Body))
	switch {
	case err != nil:
		return c.p.faults.Broken(ctx, c.req.Model, err)
	case start == '<':
		return c.fail(providers.KindProtocol, errors.New(c.p.faults.Page()))
	}
	c.x.Output() // the model is loaded
	c.p.left.Delete(fullName(c.req.Model))
	defer c.leave()
	for line, err := range wire.Lines(body) {
		if err != nil {
			return c.p.faults.Broken(ctx, c.req.Model, err)
		}
		if len(bytes.TrimSpace(line.Text)) == 0 {
			continue
		}
		done, err := c.line(line)
		if errors.Is(err, errCut) {
			continue // the cause comes next
		}
		if c.ended = done; done {
			c.x.Drain(body)
		}
		if done || err != nil {
			return err
		}
		c.x.Patience(c.patience())
	}
	return c.p.faults.Broken(ctx, c.req.Model, io.EOF)
}

// leave records a stream that was cut short, see [call.stuck].
func (c *call) leave() {
	if !c.ended {
		c.p.left.Store(fullName(c.req.Model), true)
	}
}

// patience returns how long the stream may be silent.
func (c *call) patience() time.Duration {
	if len(c.set) > 0 && !c.answer.Texts {
		return max(c.p.limits.Idle, callIdle)
	}
	return c.p.limits.Idle
}

// chatLine is a line of the stream. The type of ollama/api would decode every number in a call's
// arguments as a float64.
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

// errCut means that the stream ended inside a line.
var errCut = errors.New("the stream ended inside a line")

// line handles one line and reports whether the answer is done.
func (c *call) line(l sse.Line) (done bool, err error) {
	if content, thinking, ok := readPiece(l.Text); ok {
		return false, c.say(content, thinking)
	}
	var line chatLine
	switch err := json.Unmarshal(l.Text, &line); {
	case err != nil && l.Cut:
		return false, errCut
	case err != nil:
		return false, c.fail(providers.KindProtocol, fmt.Errorf("a line of the stream cannot be read: %w", err))
	}
	if len(line.Error) > 0 && string(line.Error) != "null" {
		return false, c.p.streamError(c.req.Model, errorText(l.Text))
	}
	if err := c.output(&line); err != nil {
		return line.Done, err
	}
	if !line.Done {
		return false, nil
	}
	return true, c.finish(&line)
}

func (c *call) fail(kind providers.Kind, err error) *providers.Error {
	return c.p.faults.Fail(kind, c.req.Model, err)
}
