package gemini

import (
	"strings"

	"molar/providers"
	"molar/providers/wire"
)

// finish ends the answer with the reason that the service gave, or with an error
// when that reason is no answer.
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
		return c.fail(providers.KindIncomplete, "the service sent an empty answer"+c.said())
	case reason == "", reason == "CONTINUATION":
		return c.fail(providers.KindIncomplete, "the stream ended without saying that the answer is complete"+c.said())
	case reason == "MAX_TOKENS" && !answered && c.p.thinkers.Starved(c.req):
		return wire.Starving(c.p.faults.Fail(providers.KindProtocol, c.q.model, wire.ErrStarved))
	case reason == "MAX_TOKENS":
		return c.done(providers.FinishLength, "")
	case filtered(reason):
		return c.done(providers.FinishContentFilter, "the answer was withheld: "+reason+c.said())
	case badCall(reason):
		return c.again("the model's tool call could not be read (" + reason + c.said() + ")")
	case c.answer.Calls > 0:
		return c.done(providers.FinishToolCalls, "")
	case c.answer.Texts:
		return c.done(providers.FinishStop, "")
	}
	return c.again("the model ended without an answer (" + c.reason + c.said() + ")")
}

// again is the error of an answer that may come out better the next time.
func (c *call) again(text string) error {
	err := c.fail(providers.KindProtocol, text)
	if !c.answer.Answered() {
		err.Again = text + ", asked again"
	}
	return err
}

// said is the service's words for the end, if it had any.
func (c *call) said() string {
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

// badCall reports whether a finish reason means that the model's call could not be used.
func badCall(reason string) bool {
	switch reason {
	case "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "MISSING_THOUGHT_SIGNATURE":
		return true
	}
	return strings.HasPrefix(reason, "MALFORMED_")
}
