package ollama

import (
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"molar/providers"
	"molar/schemas"
	"molar/schemas/lower"
)

// emit hands a chunk to the consumer.
func (c *call) emit(chunk providers.Chunk) error {
	if !c.yield(chunk, nil) {
		return errStopped
	}
	return nil
}

// output hands on what a line brought.
func (c *call) output(line *chatLine) error {
	text, err := c.reader.take(line.Message.Content)
	if err != nil {
		return c.p.fail(providers.KindProtocol, c.req.Model, err)
	}
	if c.p.think {
		c.thinking.WriteString(line.Message.Thinking)
	}
	if len(line.Message.ToolCalls) > 0 {
		text += c.reader.rest()
	}
	if err := c.show(text, line.Message.Thinking); err != nil {
		return err
	}
	for _, t := range line.Message.ToolCalls {
		err := c.suggest(schemas.FunctionCall{Name: t.Function.Name, Arguments: argumentsText(t.Function.Arguments)})
		if err != nil {
			return err
		}
	}
	return nil
}

// show hands on text and thinking.
func (c *call) show(text, thinking string) error {
	if text == "" && thinking == "" {
		return nil
	}
	c.texts = c.texts || text != ""
	return c.emit(providers.Chunk{Text: text, Thinking: thinking})
}

// suggest hands on a call.
func (c *call) suggest(f schemas.FunctionCall) error {
	if c.set.wrapped(f.Name) {
		f.Arguments = lower.Unwrap(f.Arguments)
	}
	c.calls++
	return c.emit(providers.Chunk{State: c.state(), Call: &schemas.ToolCall{ID: uuid.NewString(), Function: f}})
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
	cut := line.DoneReason == "length"
	if err := c.settle(cut); err != nil {
		return err
	}
	reason := providers.FinishStop
	switch {
	case c.calls > 0:
		reason = providers.FinishToolCalls
	case cut:
		reason = providers.FinishLength
	case !c.texts && line.EvalCount > 0:
		return c.p.fail(providers.KindProtocol, c.req.Model, errEmpty)
	}
	usage := c.usage
	return c.emit(providers.Chunk{Usage: &usage, Finish: reason})
}

// settle hands on what the reader made of the whole text. Calls that the model
// printed though it could have made them are counted.
func (c *call) settle(cut bool) error {
	calls, err := c.reader.end(cut)
	if err != nil {
		return c.p.fail(providers.KindProtocol, c.req.Model, err)
	}
	if len(calls) == 0 {
		return c.show(c.reader.rest(), "")
	}
	if c.form == nil {
		c.p.salvaged.Add(int64(len(calls)))
		c.p.log.Info("tool calls printed as text were read as calls", "model", c.req.Model, "calls", len(calls))
		err := c.emit(providers.Chunk{Note: fmt.Sprintf("the model printed its calls as text; %d read as such", len(calls))})
		if err != nil {
			return err
		}
	}
	for _, call := range calls {
		if err := c.suggest(call); err != nil {
			return err
		}
	}
	return nil
}
