package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"

	"molar/schemas"
)

// frame is one message of the stream, or a whole answer. Fields that servers encode differently
// have types that accept all forms.
type frame struct {
	Choices []choice `json:"choices"`
	Usage   *usage   `json:"usage"`
	// Timings are llama.cpp's, which counts cached tokens only there.
	Timings struct {
		Cached int `json:"cache_n"`
	} `json:"timings"`
	Error json.RawMessage `json:"error"`
}

type choice struct {
	Index        int     `json:"index"`
	Delta        delta   `json:"delta"`
	Message      delta   `json:"message"` // in unstreamed answers
	FinishReason anyText `json:"finish_reason"`
}

type delta struct {
	Content          content `json:"content"`
	Refusal          anyText `json:"refusal"`
	ReasoningContent anyText `json:"reasoning_content"`
	Reasoning        anyText `json:"reasoning"`
	// ReasoningDetails must be sent back to gateways verbatim.
	ReasoningDetails []json.RawMessage `json:"reasoning_details"`
	ToolCalls        pieces            `json:"tool_calls"`
	// FunctionCall is the predecessor of ToolCalls in the first version of the API.
	FunctionCall *function `json:"function_call"`
}

// thinking returns the reasoning: servers send reasoning_content, reasoning, the same text in both, or a
// part of the content.
func (d *delta) thinking() string {
	return cmp.Or(string(d.ReasoningContent), string(d.Reasoning), d.Content.thinking)
}

// content is the content of a message: a text, or parts of text and, from Mistral, of thinking.
type content struct {
	text     anyText
	thinking string
}

func (c *content) UnmarshalJSON(data []byte) error {
	var parts []struct {
		Type     string  `json:"type"`
		Thinking anyText `json:"thinking"`
	}
	if len(data) > 0 && data[0] == '[' && json.Unmarshal(data, &parts) == nil {
		for _, p := range parts {
			if p.Type == "thinking" {
				c.thinking += string(p.Thinking)
			}
		}
	}
	return c.text.UnmarshalJSON(data)
}

// pieces are the tool calls of a delta: a list, or one alone.
type pieces []piece

func (p *pieces) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '{' {
		*p = make(pieces, 1)
		return json.Unmarshal(data, &(*p)[0])
	}
	return json.Unmarshal(data, (*[]piece)(p))
}

// A piece is a part of a tool call.
type piece struct {
	Index    *int     `json:"index"`
	ID       anyText  `json:"id"`
	Function function `json:"function"`
	// Extra is a gateway's data of a call, to be sent back with it.
	Extra json.RawMessage `json:"extra_content"`
}

type function struct {
	Name      anyText `json:"name"`
	Arguments anyText `json:"arguments"`
}

type usage struct {
	PromptTokens     int `json:"prompt_tokens"`
	CompletionTokens int `json:"completion_tokens"`
	TotalTokens      int `json:"total_tokens"`
	PromptDetails    struct {
		Cached int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionDetails struct {
		Reasoning int `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
	// CacheHits is DeepSeek's name for cached tokens.
	CacheHits int `json:"prompt_cache_hit_tokens"`
	// Cost is what the call costs, in US dollars, as OpenRouter and others report it.
	Cost cost `json:"cost"`
}

// cost is an amount. It decodes a number, and Perplexity's object of amounts; anything else is zero,
// as a figure of an unknown form is no reason to fail.
type cost float64

func (c *cost) UnmarshalJSON(data []byte) error {
	var all struct {
		Total float64 `json:"total_cost"`
	}
	if json.Unmarshal(data, (*float64)(c)) != nil && json.Unmarshal(data, &all) == nil {
		*c = cost(all.Total)
	}
	return nil
}

func (u usage) schema() *schemas.Usage {
	reasoning := u.CompletionDetails.Reasoning
	if u.TotalTokens > 0 && u.TotalTokens == u.PromptTokens+u.CompletionTokens+reasoning {
		u.CompletionTokens += reasoning // xAI counts it apart
	}
	if u.TotalTokens == 0 {
		u.TotalTokens = u.PromptTokens + u.CompletionTokens
	}
	return &schemas.Usage{
		PromptTokens: u.PromptTokens, CompletionTokens: u.CompletionTokens, TotalTokens: u.TotalTokens,
		CachedTokens: cmp.Or(u.PromptDetails.Cached, u.CacheHits), ReasoningTokens: reasoning,
		Cost: schemas.NewCost(float64(u.Cost)),
	}
}

// anyText is a string. It decodes null to "", a list of content parts or of refusals to their texts,
// and any other value to its JSON.
type anyText string

func (t *anyText) UnmarshalJSON(data []byte) error {
	switch {
	case len(data) == 0, string(data) == "null":
		*t = ""
	case data[0] == '"' && bytes.IndexByte(data, '\\') < 0:
		*t = anyText(strings.ToValidUTF8(string(data[1:len(data)-1]), "�"))
	case data[0] == '"':
		return json.Unmarshal(data, (*string)(t))
	case data[0] == '[':
		var parts []struct {
			Text anyText `json:"text"`
			Msg  anyText `json:"msg"`
		}
		if json.Unmarshal(data, &parts) != nil {
			*t = anyText(data)
			return nil
		}
		var b strings.Builder
		for _, p := range parts {
			b.WriteString(string(p.Text + p.Msg))
		}
		*t = anyText(b.String())
	default:
		*t = anyText(data)
	}
	return nil
}
