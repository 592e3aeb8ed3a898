package tape

import (
	"encoding/json"

	"molar/providers"
	"molar/schemas"
)

// A localRequest is how a call of a provider without a transport is written down.
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

// EncodeRequest writes a request of such a provider.
func EncodeRequest(req providers.Request) json.RawMessage {
	body, err := json.Marshal(localRequest{
		System: req.System, Messages: req.Messages, Tools: req.Tools, Model: req.Model,
		ToolChoice: req.ToolChoice, ForbidCalls: req.ForbidCalls, Schema: req.Schema, Language: req.Language,
		Temperature: req.Temperature, MaxTokens: req.MaxTokens, Stop: req.Stop,
	})
	if err != nil {
		return json.RawMessage("null") // a part that is no JSON never came from a server
	}
	return body
}

// A localChunk is how a chunk of such a provider is written down, one a line.
type localChunk struct {
	Text     string                 `json:"text,omitempty"`
	Thinking string                 `json:"thinking,omitempty"`
	Call     *schemas.ToolCall      `json:"call,omitempty"`
	Sources  []schemas.Source       `json:"sources,omitempty"`
	Usage    *schemas.Usage         `json:"usage,omitempty"`
	Note     string                 `json:"note,omitempty"`
	Finish   providers.FinishReason `json:"finish,omitempty"`
}

// EncodeChunk writes a chunk of such a provider.
func EncodeChunk(c providers.Chunk) []byte {
	line, err := json.Marshal(localChunk{
		Text: c.Text, Thinking: c.Thinking, Call: c.Call, Sources: c.Sources, Usage: c.Usage, Note: c.Note, Finish: c.Finish,
	})
	if err != nil {
		return []byte("{}")
	}
	return line
}

// DecodeChunk is the reverse of [EncodeChunk].
func DecodeChunk(line []byte) (providers.Chunk, error) {
	var c localChunk
	if err := json.Unmarshal(line, &c); err != nil {
		return providers.Chunk{}, err
	}
	return providers.Chunk{
		Text: c.Text, Thinking: c.Thinking, Call: c.Call, Sources: c.Sources, Usage: c.Usage, Note: c.Note, Finish: c.Finish,
	}, nil
}
