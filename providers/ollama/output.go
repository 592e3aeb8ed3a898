package ollama

import (
	"errors"

	"molar/providers"
	"molar/providers/wire"
	"molar/schemas"
)

// output emits the contents of a line.
func (c *call) output(line *chatLine) error {
	if err := c.say(line.Message.Content, line.Message.Thinking); err != nil {
		return err
	}
	for _, t := range line.Message.ToolCalls {
		f := schemas.FunctionCall{Name: t.Function.Name, Arguments: wire.Arguments(t.Function.Arguments)}
		if err := c.answer.Call(f, c.state()); err != nil {
			return err
		}
	}
	return nil
}

// say emits a piece of text and of reasoning.
func (c *call) say(content, thinking string) error {
	c.thinking.WriteString(thinking)
	return c.unreadable(c.answer.Say(content, thinking, nil))
}

// unreadableCall returns the error of a printed call that cannot be read.
func (c *call) unreadableCall(err error) *providers.Error { return c.fail(providers.KindProtocol, err) }

// unreadable returns the error of an answer that is not in the requested form.
func (c *call) unreadable(err error) error {
	if errors.Is(err, errUnreadable) {
		return c.fail(providers.KindProtocol, err)
	}
	return err
}

// state returns the thinking that led to the calls, to store with the first of them.
func (c *call) state() *schemas.ProviderState {
	if c.thinking.Len() == 0 {
		return nil
	}
	kept := state{Thinking: c.thinking.String()}
	c.thinking.Reset()
	return wire.Keep(c.p.name, kept)
}

// finish ends the answer, or returns the error of an empty one.
func (c *call) finish(line *chatLine) error {
	usage := schemas.Usage{
		PromptTokens:     line.PromptEvalCount,
		CompletionTokens: line.EvalCount,
		TotalTokens:      line.PromptEvalCount + line.EvalCount,
	}
	cut := line.DoneReason == "length"
	if err := c.answer.End(cut); err != nil {
		return c.unreadable(err)
	}
	if c.form == nil && c.answer.Printed > 0 {
		c.p.log.Info("tool calls printed as text were read as calls", "model", c.req.Model, "calls", c.answer.Printed)
	}
	if c.answer.Thought {
		c.p.thinkers.Note(c.req.Model)
	}
	reason := providers.FinishStop
	switch {
	case cut && !c.answer.Answered() && c.p.thinkers.Starved(c.req):
		return c.failed(usage, wire.Starving(c.fail(providers.KindProtocol, wire.ErrStarved)))
	case c.answer.Calls > 0:
		reason = providers.FinishToolCalls
	case cut:
		reason = providers.FinishLength
	case !c.answer.Texts && line.DoneReason != "load" && line.DoneReason != "unload":
		return c.failed(usage, c.fail(providers.KindProtocol, errEmpty))
	}
	return c.answer.Emit(providers.Chunk{Usage: &usage, Finish: reason})
}

// failed returns the error of an answer that still used tokens.
func (c *call) failed(usage schemas.Usage, err error) error {
	if stopped := c.answer.Emit(providers.Chunk{Usage: &usage}); stopped != nil {
		return stopped
	}
	return err
}
