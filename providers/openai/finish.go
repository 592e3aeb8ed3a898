package openai

import (
	"errors"
	"fmt"
	"strings"

	"molar/providers"
)

// finish hands out the calls and ends the answer, or finds that there is none.
func (c *call) finish() error {
	calls, err := c.calls.finish(c.wrapped)
	if err != nil {
		return c.p.fail(providers.KindProtocol, c.req.Model, err)
	}
	reason, err := c.ending(len(calls) > 0)
	if err != nil {
		return err
	}
	if reason != providers.FinishToolCalls && len(calls) > 0 {
		// The answer ended in the middle of its calls; nobody may run half of them.
		err := c.emit(providers.Chunk{Note: fmt.Sprintf("%d tool calls dropped: the answer ended with %s", len(calls), reason)})
		if err != nil {
			return err
		}
		calls = nil
	}
	for _, m := range calls {
		if err := c.emit(providers.Chunk{Call: &m.call, State: m.state}); err != nil {
			return err
		}
	}
	return c.emit(providers.Chunk{Usage: c.usage, Finish: reason})
}

// ending maps the finish reason of the wire. Servers say "stop" after calls too.
func (c *call) ending(calls bool) (providers.FinishReason, error) {
	reason := strings.ToLower(c.reason)
	switch {
	case reason == "length", reason == "max_tokens", reason == "model_length":
		return providers.FinishLength, nil
	case reason == "content_filter", reason == "safety", c.refused && !calls:
		return providers.FinishContentFilter, nil
	case reason == "error", reason == "abort":
		return "", c.p.fail(providers.KindUnavailable, c.req.Model, fmt.Errorf("the server gave up (finish reason %s)", reason))
	case calls:
		return providers.FinishToolCalls, nil
	case reason == "stop", c.texts:
		return providers.FinishStop, nil
	case reason == "":
		return "", c.p.fail(providers.KindIncomplete, c.req.Model, errors.New("the answer is empty: neither text, nor a tool call, nor a finish reason"))
	}
	return "", c.p.fail(providers.KindProtocol, c.req.Model, fmt.Errorf("the answer is empty and ends with the reason %q", c.p.scrub.clean(reason)))
}
