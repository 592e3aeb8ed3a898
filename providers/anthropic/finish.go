package anthropic

import (
	"errors"
	"fmt"

	"molar/providers"
	"molar/providers/wire"
)

// The stop reasons, see
// https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons.
const (
	reasonEnd      = "end_turn"
	reasonStop     = "stop_sequence"
	reasonTools    = "tool_use"
	reasonTokens   = "max_tokens"
	reasonWindow   = "model_context_window_exceeded"
	reasonRefusal  = "refusal"
	reasonPause    = "pause_turn"
	reasonFiltered = "content_filter" // of other servers
)

// A pausedError is the error of an answer that the service paused.
type pausedError struct{ error }

// finish emits the calls and ends the answer, or returns the error of an empty one.
func (c *call) finish() error {
	calls, err := c.blocks.finish()
	if err != nil {
		return c.fail(providers.KindProtocol, err)
	}
	if (c.cut() || c.filtered()) && len(calls) > 0 {
		// The answer ended within its calls; incomplete calls must not run.
		note := fmt.Sprintf("%d tool calls dropped: the answer ended with %s", len(calls), c.reason)
		if err := c.answer.Emit(providers.Chunk{Note: note}); err != nil {
			return err
		}
		calls = nil
	}
	for _, f := range calls {
		if err := c.answer.Call(f.call, keep(c.p.name, f.state)); err != nil {
			return err
		}
	}
	if err := c.answer.End(c.cut()); err != nil {
		return err
	}
	if c.answer.Thought {
		c.p.thinkers.Note(c.req.Model)
	}
	reason, err := c.ending()
	if err != nil {
		return err
	}
	if reason == providers.FinishLength && !c.answer.Answered() && c.p.thinkers.Starved(c.req) {
		return c.starved()
	}
	return c.answer.Emit(providers.Chunk{Usage: c.usage.schema(), Finish: reason})
}

// starved returns the error of a small answer whose tokens were spent on thoughts.
func (c *call) starved() error {
	if err := c.answer.Emit(providers.Chunk{Usage: c.usage.schema()}); err != nil {
		return err
	}
	return wire.Starving(c.fail(providers.KindProtocol, wire.ErrStarved))
}

// cut reports whether the answer was cut at its token limit or at the model's window.
func (c *call) cut() bool { return c.reason == reasonTokens || c.reason == reasonWindow }

// filtered reports whether the service withheld the answer.
func (c *call) filtered() bool { return c.reason == reasonRefusal || c.reason == reasonFiltered }

// ending maps the stop reason.
func (c *call) ending() (providers.FinishReason, error) {
	switch {
	case c.reason == reasonWindow && !c.answer.Answered():
		return "", c.fail(providers.KindContextLength, errors.New("the prompt fills the model's context window"))
	case c.cut():
		return providers.FinishLength, nil
	case c.filtered():
		return providers.FinishContentFilter, nil
	case c.answer.Calls > 0:
		return providers.FinishToolCalls, nil
	case c.reason == reasonPause:
		return c.paused()
	case c.answer.Texts:
		return providers.FinishStop, nil
	case c.reason == "":
		return "", c.fail(providers.KindIncomplete, errors.New("the answer is empty: neither text, nor a tool call, nor a stop reason"))
	}
	err := c.fail(providers.KindProtocol, fmt.Errorf("the answer is empty and ends with the reason %q", c.p.faults.Clean(c.reason)))
	err.Again = "empty answer, asked again"
	return "", err
}

// paused ends an answer that the service broke off. It does so for its own tools only, which are
// never offered, so the answer is asked for once more; a second one stands as it is.
func (c *call) paused() (providers.FinishReason, error) {
	_, before := errors.AsType[pausedError](c.req.After)
	if before && c.answer.Texts {
		return providers.FinishStop, nil
	}
	err := c.fail(providers.KindProtocol, pausedError{errors.New("the service paused the answer")})
	if !before {
		err.Again, err.Reask = "the service paused the answer, asked again", true
	}
	return "", err
}
