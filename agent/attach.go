package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"molar/agent/prompts"
	"molar/schemas"
)

// An Attachment is a text that a person put beside the question: a resource of a
// server, or what was piped in. The model reads it fenced, as data; it is not saved
// with the question.
type Attachment struct {
	// Name says what it is, such as an address.
	Name string
	// Server is who gave it, and empty for the person's own. The tools of other servers
	// then need approval, as after a result of that server.
	Server string
	// Text is cut at [Limits.ResultTokens], with a mark.
	Text string
}

// attach puts the attachments behind the question.
func (r *run) attach(ctx context.Context) error {
	if len(r.turn.Attachments) == 0 {
		return nil
	}
	largest := r.a.cfg.Limits.ResultTokens * 4
	results := make([]schemas.ToolResult, len(r.turn.Attachments))
	for i, a := range r.turn.Attachments {
		text, err := json.Marshal(a.Text)
		if err != nil {
			return fmt.Errorf("%w: attachment %q: %w", ErrInvalid, a.Name, err)
		}
		results[i] = schemas.ToolResult{ToolName: a.Name, Server: a.Server, Output: text}
		if len(text) > largest {
			if err := r.warn(fmt.Sprintf("%s is longer than the %d bytes that a model is shown of it; the rest is left out", a.Name, largest)); err != nil {
				return err
			}
		}
	}
	parts := slices.Clone(r.question.Parts)
	for _, result := range r.disarmed(results) {
		parts = append(parts, schemas.Part{Kind: schemas.PartContext, Text: prompts.Result(r.nonce, result, largest), Result: &result})
	}
	r.question.Parts = parts
	r.mark("1.4", "Attached to the question", "texts", len(results))
	return ctx.Err()
}
