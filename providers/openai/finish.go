package openai

import (
	"errors"
	"fmt"
	"strings"

	"molar/providers"
	"molar/providers/wire"
	"molar/schemas/responses"
)

// end emits the calls and ends the answer, or returns the error of an empty one.
func (c *call) end(calls []assembled) error {
	if c.outOfTokens() && len(calls) > 0 || c.filtered() && len(calls) > 0 {
		// The answer ended within its calls; incomplete calls must not run.
		note := fmt.Sprintf("%d tool calls dropped: the answer ended with %s", len(calls), strings.ToLower(c.reason))
		if err := c.answer.Emit(providers.Chunk{Note: note}); err != nil {
			return err
		}
		calls = nil
	}
	for _, m := range calls {
		if err := c.answer.Call(m.call, keep(c.p.name, m.state)); err != nil {
			return err
		}
	}
	if err := c.answer.End(c.outOfTokens()); err != nil {
		return err
	}
	if c.usage != nil && c.usage.ReasoningTokens > 0 || c.answer.Thought {
		c.p.thinkers.Note(c.req.Model)
	}
	reason, err := c.ending()
	if err != nil {
		return err
	}
	if reason == providers.FinishLength && !c.answer.Answered() && c.p.thinkers.Starved(c.req) {
		return c.starved()
	}
	return c.answer.Emit(providers.Chunk{Usage: c.usage, Finish: reason})
}

// starved returns the error of a small answer whose tokens were spent on thoughts.
func (c *call) starved() error {
	if c.usage != nil {
		if err := c.answer.Emit(providers.Chunk{Usage: c.usage}); err != nil {
			return err
		}
	}
	return wire.Starving(c.fail(providers.KindProtocol, wire.ErrStarved))
}

// outOfTokens reports whether the answer was cut at its token limit.
func (c *call) outOfTokens() bool {
	switch strings.ToLower(c.reason) {
	case "length", "max_tokens", "model_length", windowFull, responses.ReasonMaxTokens, responses.StatusIncomplete:
		return true
	}
	return false
}

// reasonFiltered is the finish reason of an answer that was withheld, and the code of such a fault.
const reasonFiltered = "content_filter"

// filtered reports whether the service withheld the answer: GLM calls it sensitive.
func (c *call) filtered() bool {
	switch strings.ToLower(c.reason) {
	case reasonFiltered, "safety", "sensitive":
		return true
	}
	return false
}

// gaveUp reports whether the service ended the answer because of its own fault.
func (c *call) gaveUp() bool {
	switch strings.ToLower(c.reason) {
	case "error", "abort", "network_error", "insufficient_system_resource":
		return true
	}
	return false
}

// windowFull is the finish reason of an answer that reached the end of the model's window.
const windowFull = "model_context_window_exceeded"

// ending maps the finish reason. Servers say "stop" after calls too.
func (c *call) ending() (providers.FinishReason, error) {
	reason := strings.ToLower(c.reason)
	switch {
	case reason == windowFull && !c.answer.Answered():
		return "", c.fail(providers.KindContextLength, errors.New("the prompt fills the model's context window"))
	case c.outOfTokens():
		return providers.FinishLength, nil
	case c.filtered(), c.refused && c.answer.Calls == 0:
		return providers.FinishContentFilter, nil
	case c.gaveUp():
		return "", c.gaveUpError(reason)
	case c.answer.Calls > 0:
		return providers.FinishToolCalls, nil
	case c.answer.Texts:
		return providers.FinishStop, nil
	case reason == "":
		return "", c.fail(providers.KindIncomplete, errors.New("the answer is empty: neither text, nor a tool call, nor a finish reason"))
	}
	err := c.fail(providers.KindProtocol, fmt.Errorf("the answer is empty and ends with the reason %q", c.p.faults.Clean(reason)))
	err.Again = "empty answer, asked again"
	return "", err
}

// gaveUpError returns the error of an answer that the server ended itself; without any output it is
// worth a retry.
func (c *call) gaveUpError(reason string) error {
	err := c.fail(providers.KindUnavailable, fmt.Errorf("the server gave up (finish reason %s)", reason))
	if !c.answer.Answered() {
		err.Again = err.Err.Error() + ", asked again"
	}
	return err
}
