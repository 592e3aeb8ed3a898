package gemini

import (
	"slices"
	"strings"

	"google.golang.org/genai"

	"molar/providers"
	"molar/providers/wire"
	"molar/schemas"
)

// take emits the contents of an event.
func (c *call) take(a *genai.GenerateContentResponse) error {
	if f := a.PromptFeedback; f != nil && f.BlockReason != "" {
		c.blocked = c.p.faults.Clean(string(f.BlockReason))
	}
	if a.UsageMetadata != nil {
		c.usage = usage(a.UsageMetadata) // a running total
	}
	if len(a.Candidates) == 0 {
		return nil
	}
	first := a.Candidates[0]
	reason, message, _ := strings.Cut(string(first.FinishReason), reasonEnd)
	if reason != "" && reason != string(genai.FinishReasonUnspecified) {
		c.reason, c.detail = c.p.faults.Clean(reason), c.p.faults.Clean(message)
		c.x.Last()
	}
	if first.Content != nil {
		for _, p := range first.Content.Parts {
			if p == nil {
				continue
			}
			if err := c.part(p); err != nil {
				return err
			}
		}
	}
	return c.sources(first.GroundingMetadata)
}

// usage counts thoughts as completion and the results of built-in tools as prompt, as they are
// billed.
func usage(u *genai.GenerateContentResponseUsageMetadata) schemas.Usage {
	s := schemas.Usage{
		PromptTokens:     int(u.PromptTokenCount + u.ToolUsePromptTokenCount),
		CompletionTokens: int(u.CandidatesTokenCount + u.ThoughtsTokenCount),
		TotalTokens:      int(u.TotalTokenCount),
		CachedTokens:     int(u.CachedContentTokenCount),
		ReasoningTokens:  int(u.ThoughtsTokenCount),
	}
	if s.TotalTokens == 0 {
		s.TotalTokens = s.PromptTokens + s.CompletionTokens
	}
	return s
}

func (c *call) part(p *genai.Part) error {
	switch {
	case p.FunctionCall != nil:
		f := schemas.FunctionCall{Name: p.FunctionCall.Name, Arguments: wire.Arguments(unwrap(p.FunctionCall.Args))}
		return c.answer.Call(f, newState(c.p.name, p.ThoughtSignature, p.FunctionCall.ID))
	case p.Thought:
		return c.answer.Say("", p.Text, nil)
	}
	return c.answer.Say(p.Text, "", newState(c.p.name, p.ThoughtSignature, ""))
}

// sources emits the pages that the answer is grounded on, each once. They may come in any chunk,
// often in one without text.
func (c *call) sources(g *genai.GroundingMetadata) error {
	if g == nil {
		return nil
	}
	if c.q.quotes != nil {
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
	return c.answer.Emit(providers.Chunk{Sources: pages})
}

// note records which sentences of the answer rest on which page.
func (q *query) note(g *genai.GroundingMetadata) {
	for _, support := range g.GroundingSupports {
		if support == nil || support.Segment == nil || strings.TrimSpace(support.Segment.Text) == "" {
			continue
		}
		sentence := strings.TrimSpace(support.Segment.Text)
		for _, i := range support.GroundingChunkIndices {
			if i < 0 || int(i) >= len(g.GroundingChunks) || g.GroundingChunks[i] == nil || g.GroundingChunks[i].Web == nil {
				continue
			}
			address := g.GroundingChunks[i].Web.URI
			if !slices.Contains(q.quotes[address], sentence) {
				q.quotes[address] = append(q.quotes[address], sentence)
			}
		}
	}
}
