package gemini

import (
	"encoding/json"
	"slices"
	"strings"

	"molar/providers"
	"molar/providers/wire"
	"molar/schemas"
)

// answer is an event of the stream, or an element of a list of them.
type answer struct {
	Error          json.RawMessage `json:"error"`
	Candidates     []*candidate    `json:"candidates"`
	PromptFeedback struct {
		BlockReason string `json:"blockReason"`
	} `json:"promptFeedback"`
	Usage *usage `json:"usageMetadata"`
}

type candidate struct {
	Content struct {
		Parts []*answerPart `json:"parts"`
	} `json:"content"`
	FinishReason  string     `json:"finishReason"`
	FinishMessage string     `json:"finishMessage"`
	Grounding     *grounding `json:"groundingMetadata"`
}

type answerPart struct {
	Text         string `json:"text"`
	Thought      bool   `json:"thought"`
	Signature    string `json:"thoughtSignature"`
	FunctionCall *struct {
		ID   string          `json:"id"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	} `json:"functionCall"`
}

type usage struct {
	Prompt     int `json:"promptTokenCount"`
	ToolPrompt int `json:"toolUsePromptTokenCount"`
	Cached     int `json:"cachedContentTokenCount"`
	Candidates int `json:"candidatesTokenCount"`
	Thoughts   int `json:"thoughtsTokenCount"`
	Total      int `json:"totalTokenCount"`
}

// schema counts thoughts as completion and the results of built-in tools as prompt, as they are
// billed.
func (u usage) schema() schemas.Usage {
	s := schemas.Usage{
		PromptTokens: u.Prompt + u.ToolPrompt, CompletionTokens: u.Candidates + u.Thoughts, TotalTokens: u.Total,
		CachedTokens: u.Cached, ReasoningTokens: u.Thoughts,
	}
	if s.TotalTokens == 0 {
		s.TotalTokens = s.PromptTokens + s.CompletionTokens
	}
	return s
}

// take emits the contents of an event.
func (c *call) take(a *answer) error {
	if len(a.Error) > 0 && string(a.Error) != "null" {
		return c.p.streamError(c.q.model, a.Error)
	}
	if reason := a.PromptFeedback.BlockReason; reason != "" {
		c.blocked = c.p.faults.Clean(reason)
	}
	if a.Usage != nil {
		c.usage = a.Usage.schema() // a running total
	}
	if len(a.Candidates) == 0 || a.Candidates[0] == nil {
		return nil
	}
	first := a.Candidates[0]
	if r := first.FinishReason; r != "" && r != "FINISH_REASON_UNSPECIFIED" {
		c.reason, c.detail = c.p.faults.Clean(r), c.p.faults.Clean(first.FinishMessage)
		c.x.Last()
	}
	for _, p := range first.Content.Parts {
		if p == nil {
			continue
		}
		if err := c.part(p); err != nil {
			return err
		}
	}
	return c.sources(first.Grounding)
}

func (c *call) part(p *answerPart) error {
	switch {
	case p.FunctionCall != nil:
		f := schemas.FunctionCall{Name: p.FunctionCall.Name, Arguments: wire.Arguments(p.FunctionCall.Args)}
		return c.answer.Call(f, newState(c.p.name, p.Signature, p.FunctionCall.ID))
	case p.Thought:
		return c.answer.Say("", p.Text, nil)
	}
	return c.answer.Say(p.Text, "", newState(c.p.name, p.Signature, ""))
}

// A grounding names the pages of an answer.
type grounding struct {
	Chunks []*struct {
		Web *struct {
			URI   string `json:"uri"`
			Title string `json:"title"`
		} `json:"web"`
	} `json:"groundingChunks"`
	Supports []*struct {
		Segment *struct {
			Text string `json:"text"`
		} `json:"segment"`
		Chunks []int `json:"groundingChunkIndices"`
	} `json:"groundingSupports"`
}

// sources emits the pages that the answer is grounded on, each once. They may come in any chunk,
// often in one without text.
func (c *call) sources(g *grounding) error {
	if g == nil {
		return nil
	}
	if c.q.quotes != nil {
		c.q.note(g)
	}
	var pages []schemas.Source
	for _, chunk := range g.Chunks {
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
func (q *query) note(g *grounding) {
	for _, support := range g.Supports {
		if support == nil || support.Segment == nil || strings.TrimSpace(support.Segment.Text) == "" {
			continue
		}
		sentence := strings.TrimSpace(support.Segment.Text)
		for _, i := range support.Chunks {
			if i < 0 || i >= len(g.Chunks) || g.Chunks[i] == nil || g.Chunks[i].Web == nil {
				continue
			}
			address := g.Chunks[i].Web.URI
			if !slices.Contains(q.quotes[address], sentence) {
				q.quotes[address] = append(q.quotes[address], sentence)
			}
		}
	}
}
