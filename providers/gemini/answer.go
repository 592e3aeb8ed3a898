package gemini

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"github.com/google/uuid"
	"google.golang.org/genai"

	"molar/providers"
	"molar/schemas"
	"molar/schemas/lower"
)

// take hands on what a chunk of the answer brought.
func (c *call) take(resp *genai.GenerateContentResponse, lost seen) error {
	if resp.PromptFeedback != nil && resp.PromptFeedback.BlockReason != "" {
		c.blocked = string(resp.PromptFeedback.BlockReason)
	}
	if resp.UsageMetadata != nil {
		c.usage = usage(resp.UsageMetadata) // a running total
	}
	if len(resp.Candidates) == 0 || resp.Candidates[0] == nil {
		return nil
	}
	candidate := resp.Candidates[0]
	if r := candidate.FinishReason; r != "" && r != genai.FinishReasonUnspecified {
		c.reason, c.detail = string(r), lost.detail
	}
	if candidate.Content != nil {
		if err := c.parts(candidate.Content.Parts, lost.args); err != nil {
			return err
		}
	}
	return c.sources(candidate.GroundingMetadata)
}

func (c *call) parts(parts []*genai.Part, args []json.RawMessage) error {
	exact := len(args) == countCalls(parts)
	for _, part := range parts {
		if part == nil {
			continue
		}
		chunk := providers.Chunk{}
		switch {
		case part.FunctionCall != nil:
			var raw json.RawMessage
			if exact {
				raw, args = args[0], args[1:]
			} else {
				raw, _ = json.Marshal(part.FunctionCall.Args) // decoded from JSON
			}
			chunk.Call, chunk.State = c.toolCall(part.FunctionCall.Name, raw), newState(part)
			c.calls++
		case part.Thought:
			chunk.Thinking = part.Text
		default:
			chunk.Text, chunk.State = part.Text, newState(part)
			c.texts = c.texts || part.Text != ""
		}
		if chunk.Call == nil && chunk.State == nil && chunk.Text == "" && chunk.Thinking == "" {
			continue // nothing, or a kind of part that is not asked for
		}
		if err := c.emit(chunk); err != nil {
			return err
		}
	}
	return nil
}

func countCalls(parts []*genai.Part) int {
	n := 0
	for _, part := range parts {
		if part != nil && part.FunctionCall != nil {
			n++
		}
	}
	return n
}

func (c *call) toolCall(written string, raw json.RawMessage) *schemas.ToolCall {
	tool := c.q.set.called(written)
	args := argumentsText(raw)
	if c.q.set.offered[tool] {
		args = lower.Unwrap(args)
	}
	return &schemas.ToolCall{ID: uuid.NewString(), Function: schemas.FunctionCall{Name: tool, Arguments: args}}
}

// argumentsText is the canonical string of a call's arguments: the compact object,
// "{}" when there are none.
func argumentsText(raw json.RawMessage) string {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return "{}"
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

// sources hands on the pages that the answer is grounded on, each once. They may
// come in any chunk, often in one without text.
func (c *call) sources(g *genai.GroundingMetadata) error {
	if g == nil {
		return nil
	}
	if c.q.said != nil {
		c.q.note(g)
	}
	var pages []schemas.Source
	for _, chunk := range g.GroundingChunks {
		if chunk == nil || chunk.Web == nil {
			continue
		}
		page := schemas.Source{Title: chunk.Web.Title, URL: chunk.Web.URI}
		isWeb := strings.HasPrefix(page.URL, "https://") || strings.HasPrefix(page.URL, "http://")
		if !isWeb || c.grounded[page.URL] {
			continue
		}
		c.grounded[page.URL] = true
		pages = append(pages, page)
	}
	if len(pages) == 0 {
		return nil
	}
	return c.emit(providers.Chunk{Sources: pages})
}

// usage counts thoughts as completion and the results of built-in tools as prompt,
// as they are billed.
func usage(m *genai.GenerateContentResponseUsageMetadata) schemas.Usage {
	u := schemas.Usage{
		PromptTokens:     int(m.PromptTokenCount) + int(m.ToolUsePromptTokenCount),
		CompletionTokens: int(m.CandidatesTokenCount) + int(m.ThoughtsTokenCount),
		TotalTokens:      int(m.TotalTokenCount),
	}
	if u.TotalTokens == 0 {
		u.TotalTokens = u.PromptTokens + u.CompletionTokens
	}
	return u
}

// finish ends the answer with the reason that the service gave, or with an error
// when that reason is no answer.
func (c *call) finish() error {
	fail := func(kind providers.Kind, text string) error {
		return c.p.fail(kind, c.q.model, errors.New(text+c.said()))
	}
	answered := c.texts || c.calls > 0
	switch reason := c.reason; {
	case reason == "" && c.blocked != "":
		return c.done(providers.FinishContentFilter, "the prompt was blocked: "+c.blocked)
	case reason == "" && !answered:
		return fail(providers.KindIncomplete, "the service sent an empty answer")
	case reason == "", reason == string(genai.FinishReasonContinuation):
		return fail(providers.KindIncomplete, "the stream ended without saying that the answer is complete")
	case reason == string(genai.FinishReasonMaxTokens):
		return c.done(providers.FinishLength, "")
	case filtered(reason):
		return c.done(providers.FinishContentFilter, "the answer was withheld: "+reason+c.said())
	case badCall(reason):
		return c.p.fail(providers.KindProtocol, c.q.model, badCallError{reason + c.said()})
	case c.calls > 0:
		return c.done(providers.FinishToolCalls, "")
	case c.texts:
		return c.done(providers.FinishStop, "")
	case reason == string(genai.FinishReasonStop) && c.follows:
		return c.done(providers.FinishStop, "the model had nothing to add to the tool results")
	}
	return fail(providers.KindProtocol, "the model ended without an answer ("+c.reason+")")
}

// said is the service's words for the end, if it had any.
func (c *call) said() string {
	if c.detail == "" {
		return ""
	}
	return ": " + c.p.clean(c.detail)
}

func (c *call) done(reason providers.FinishReason, note string) error {
	total := c.spent.Add(c.usage)
	return c.emit(providers.Chunk{Usage: &total, Finish: reason, Note: note})
}

// filtered says whether a finish reason means that an answer was withheld.
func filtered(reason string) bool {
	switch genai.FinishReason(reason) {
	case genai.FinishReasonSafety, genai.FinishReasonRecitation, genai.FinishReasonBlocklist,
		genai.FinishReasonProhibitedContent, genai.FinishReasonSPII, genai.FinishReasonLanguage:
		return true
	}
	return strings.HasPrefix(reason, "IMAGE_") || reason == "MODEL_ARMOR"
}

// badCall says whether a finish reason means that the model's call could not be used.
func badCall(reason string) bool {
	switch reason {
	case "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS":
		return true
	}
	return false
}

// badCallError is errBadCall with the service's reason.
type badCallError struct{ reason string }

func (e badCallError) Error() string { return errBadCall.Error() + " (" + e.reason + ")" }

func (e badCallError) Is(target error) bool { return target == errBadCall }
