package tape

import (
	"encoding/json"

	"molar/providers"
	"molar/schemas"
)

// A provider without a model has no wire: its calls are written in this form.

type localRequest struct {
	System      string               `json:"system"`
	Messages    []schemas.Message    `json:"messages"`
	Tools       []schemas.ToolInfo   `json:"tools"`
	Model       string               `json:"model,omitempty"`
	ToolChoice  providers.ToolChoice `json:"tool_choice,omitempty"`
	ForbidCalls bool                 `json:"forbid_calls,omitempty"`
	Schema      json.RawMessage      `json:"schema,omitempty"`
	Language    string               `json:"language,omitempty"`
	Temperature *float64             `json:"temperature,omitempty"`
	MaxTokens   int                  `json:"max_tokens,omitempty"`
	Stop        []string             `json:"stop,omitempty"`
}

// encodeLocalRequest encodes a request of a provider without a model.
func encodeLocalRequest(req providers.Request) []byte {
	return encode(localRequest{
		System: req.System, Messages: req.Messages, Tools: req.Tools, Model: req.Model,
		ToolChoice: req.ToolChoice, ForbidCalls: req.ForbidCalls, Schema: req.Schema, Language: req.Language,
		Temperature: req.Temperature, MaxTokens: req.MaxTokens, Stop: req.Stop,
	})
}

// A LocalChunk is an encoded chunk of such a provider.
type LocalChunk struct {
	Text     string                 `json:"text,omitempty"`
	Thinking string                 `json:"thinking,omitempty"`
	Call     *schemas.ToolCall      `json:"call,omitempty"`
	Sources  []schemas.Source       `json:"sources,omitempty"`
	Usage    *schemas.Usage         `json:"usage,omitempty"`
	Note     string                 `json:"note,omitempty"`
	Finish   providers.FinishReason `json:"finish,omitempty"`
}

// localChunk converts a chunk to its encoded form.
func localChunk(c providers.Chunk) LocalChunk {
	return LocalChunk{c.Text, c.Thinking, c.Call, c.Sources, c.Usage, c.Note, c.Finish}
}

// Chunk is the reverse of [localChunk].
func (c LocalChunk) Chunk() providers.Chunk {
	return providers.Chunk{Text: c.Text, Thinking: c.Thinking, Call: c.Call, Sources: c.Sources, Usage: c.Usage, Note: c.Note, Finish: c.Finish}
}

func (a WireAnswer) local() [][]byte {
	var chunks [][]byte
	add := func(c LocalChunk) { chunks = append(chunks, encode(c)) }
	if a.Text != "" {
		add(LocalChunk{Text: a.Text})
	}
	finish := providers.FinishStop
	for _, c := range a.Calls {
		finish = providers.FinishToolCalls
		add(LocalChunk{Call: &schemas.ToolCall{ID: c.ID, Function: schemas.FunctionCall{Name: c.Name, Arguments: c.Arguments}}})
	}
	add(LocalChunk{Finish: finish})
	return chunks
}
