package gemini

import (
	"strings"

	"molar/providers"
	"molar/providers/wire"
)

// finish ends the answer with the service's reason, or with an error if that reason means no
// answer.
func (c *call) finish() error {
	if err := c.answer.End(c.reason == "MAX_TOKENS"); err != nil {
		return err
	}
	answered := c.answer.Answered()
	if c.answer.Thought || c.usage.ReasoningTokens > 0 {
		c.p.thinkers.Note(c.q.model)
	}
	switch reason := c.reason; {
	case reason == "" && c.blocked != "":
		return c.done(providers.FinishContentFilter, "the prompt was blocked: "+c.blocked)
	case reason == "" && !answered:
		return c.fail(providers.KindIncomplete, "the service sent an empty answer"+c.finishText())
	case reason == "", reason == "CONTINUATION":
		return c.fail(providers.KindIncomplete, "the stream ended without saying that the answer is complete"+c.finishText())
	case reason == "MAX_TOKENS" && !answered && c.p.thinkers.Starved(c.req):
		return wire.Starving(c.p.faults.Fail(providers.KindProtocol, c.q.model, wire.ErrStarved))
	case reason == "MAX_TOKENS":
		return c.done(providers.FinishLength, "")
	case filtered(reason):
		return c.done(providers.FinishContentFilter, "the answer was withheld: "+reason+c.finishText())
	case reason == "UNEXPECTED_TOOL_CALL" && c.answer.Calls > 0: // whole, of a function that was not declared
		return c.done(providers.FinishToolCalls, "")
	case badCall(reason):
		return c.again("the model's tool call could not be read (" + reason + c.finishText() + ")")
	case c.answer.Calls > 0:
		return c.done(providers.FinishToolCalls, "")
	case c.answer.Texts:
		return c.done(providers.FinishStop, "")
	}
	return c.again("the model ended without an answer (" + c.reason + c.finishText() + ")")
}

// again returns the error of an answer that may succeed on a retry. Text before a call is commentary.
func (c *call) again(text string) error {
	err := c.fail(providers.KindProtocol, text)
	if c.answer.Calls == 0 {
		err.Again, err.Reask = text+", asked again", c.answer.Texts
	}
	return err
}

// finishText returns the service's text for the end, if any.
func (c *call) finishText() string {
	if c.detail == "" {
		return ""
	}
	return ": " + c.detail
}

func (c *call) done(reason providers.FinishReason, note string) error {
	return c.answer.Emit(providers.Chunk{Usage: &c.usage, Finish: reason, Note: note})
}

// filtered reports whether a finish reason means that an answer was withheld.
func filtered(reason string) bool {
	switch reason {
	case "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE", "MODEL_ARMOR":
		return true
	}
	return strings.HasPrefix(reason, "IMAGE_")
}

// badCall reports whether a finish reason means an unusable call.
func badCall(reason string) bool {
	switch reason {
	case "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "MISSING_THOUGHT_SIGNATURE":
		return true
	}
	return strings.HasPrefix(reason, "MALFORMED_")
}
