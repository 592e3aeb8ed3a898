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

	"github.com/google/uuid"

	"molar/providers"
	"molar/schemas"
	"molar/schemas/lower"
)

// drainTime is how long an ended stream may take to close, so that its
// connection can be used again.
const drainTime = 250 * time.Millisecond

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

	held     string // blanks before the first text
	thinking strings.Builder
	texts    bool // text went out
	calls    int  // calls that went out
	usage    schemas.Usage
}

func (c *call) run(ctx context.Context) error {
	chat, err := c.prepare(ctx)
	if err != nil {
		return err
	}
	repaired, repeated := false, false
	for {
		err := c.attempt(ctx, chat)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, errStopped), c.texts, c.calls > 0:
			return err
		case providers.KindOf(err) == providers.KindContextLength && c.enlarge(chat):
			err = c.emit(providers.Chunk{Note: fmt.Sprintf("prompt too long, asked again with a window of %d tokens", chat.window)})
		case errors.Is(err, errEmpty) && !repeated:
			repeated = true
			err = c.emit(providers.Chunk{Note: "empty answer, asked again"})
		case c.unreadable(err) && !repaired:
			repaired = true
			chat.repair()
			err = c.emit(providers.Chunk{Note: "unreadable tool call, asked again"})
		default:
			return err
		}
		if err != nil {
			return err
		}
	}
}

// unreadable says whether the server could not read the model's tool call.
func (c *call) unreadable(err error) bool {
	return len(c.set.wire) > 0 && providers.KindOf(err) == providers.KindUnavailable && isParserFault(err.Error())
}

// emit hands a chunk to the consumer.
func (c *call) emit(chunk providers.Chunk) error {
	if !c.yield(chunk, nil) {
		return errStopped
	}
	return nil
}

// attempt sends the request and reads its answer to the end.
func (c *call) attempt(ctx context.Context, chat *chatRequest) error {
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
	idle := time.AfterFunc(c.p.idle, func() { cancel(errStalled) })
	defer idle.Stop()
	for ; err == nil; line, err = lines.next() {
		// While the consumer works, the server is not to blame for silence.
		idle.Stop()
		done, err := c.line(line, lines.cut)
		if done {
			idle.Reset(drainTime)
			lines.drain()
		}
		if done || err != nil {
			return err
		}
		idle.Reset(c.p.idle)
	}
	return c.broken(ctx, err)
}

// broken explains a stream that ended before it was done.
func (c *call) broken(ctx context.Context, err error) error {
	switch {
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

// output hands on what a line brought.
func (c *call) output(line *chatLine) error {
	chunk := providers.Chunk{Thinking: line.Message.Thinking, Text: c.text(line.Message.Content)}
	if c.p.think {
		c.thinking.WriteString(chunk.Thinking)
	}
	if chunk.Text != "" || chunk.Thinking != "" {
		if err := c.emit(chunk); err != nil {
			return err
		}
	}
	for _, t := range line.Message.ToolCalls {
		args := argumentsText(t.Function.Arguments)
		if c.set.wrapped[t.Function.Name] {
			args = lower.Unwrap(args)
		}
		c.calls++
		err := c.emit(providers.Chunk{State: c.state(), Call: &schemas.ToolCall{
			ID: uuid.NewString(), Function: schemas.FunctionCall{Name: t.Function.Name, Arguments: args},
		}})
		if err != nil {
			return err
		}
	}
	return nil
}

// text holds blanks back until text follows: alone they are no answer.
func (c *call) text(s string) string {
	if c.texts || s == "" {
		return s
	}
	c.held += s
	if strings.TrimSpace(c.held) == "" {
		return ""
	}
	c.texts = true
	s, c.held = c.held, ""
	return s
}

// state keeps the thinking that led to the calls beside the first of them.
func (c *call) state() *schemas.ProviderState {
	if c.thinking.Len() == 0 {
		return nil
	}
	data, err := json.Marshal(state{Thinking: c.thinking.String()})
	c.thinking.Reset()
	if err != nil {
		return nil
	}
	return &schemas.ProviderState{Provider: name, Data: data}
}

// finish ends the answer, or finds that there is none.
func (c *call) finish(line *chatLine) error {
	c.usage = c.usage.Add(schemas.Usage{
		PromptTokens:     line.PromptEvalCount,
		CompletionTokens: line.EvalCount,
		TotalTokens:      line.PromptEvalCount + line.EvalCount,
	})
	reason := providers.FinishStop
	switch {
	case c.calls > 0:
		reason = providers.FinishToolCalls
	case line.DoneReason == "length":
		reason = providers.FinishLength
	case !c.texts && line.EvalCount > 0:
		c.held = ""
		c.thinking.Reset()
		return c.p.fail(providers.KindProtocol, c.req.Model, errEmpty)
	}
	usage := c.usage
	return c.emit(providers.Chunk{Usage: &usage, Finish: reason})
}
