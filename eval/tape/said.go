package tape

import (
	"cmp"
	"encoding/json"
	"maps"

	"molar/providers"
	"molar/schemas"
)

// A Said is what a model answered, as a trace keeps it: no bytes of any wire.
type Said struct {
	Text, Thinking string
	Calls          []schemas.ToolCall
	Finish         providers.FinishReason
	Usage          schemas.Usage
	// Error says how the call failed, or "".
	Error string
}

// Said writes a model call in the wire of the provider, so that a replay takes the same
// way through the host as the real answer did. A provider without a wire is written as
// [Builder.Local] does.
func (b *Builder) Said(provider, pass string, s Said) {
	var path, contentType string
	var chunks [][]byte
	switch provider {
	case "gemini":
		path, contentType, chunks = "/v1beta/models/traced:streamGenerateContent", sseType, geminiSaid(s)
	case "openai":
		path, contentType, chunks = "/chat/completions", sseType, openAISaid(s)
	case "ollama":
		path, contentType, chunks = "/api/chat", "application/x-ndjson", ollamaSaid(s)
	default:
		b.Local(pass, s.Text, s.Calls)
		return
	}
	end := Record{Status: 200, ContentType: contentType, Error: s.Error}
	switch {
	case s.Error != "" && s.Text+s.Thinking == "" && len(s.Calls) == 0:
		// Nothing came: a refusal that no provider tries again.
		end = Record{Status: 400, ContentType: "application/json"}
		chunks = [][]byte{mustJSON(obj{"error": obj{"code": 400, "status": "INVALID_ARGUMENT", "type": "invalid_request_error", "message": s.Error}})}
	case s.Error != "":
		chunks = chunks[:len(chunks)-1] // it broke off before its end
	}
	b.exchange(pass, "POST", path, nil, end, chunks...)
}

const sseType = "text/event-stream"

type obj = map[string]any

// mustJSON encodes what holds nothing but texts, numbers and checked JSON.
func mustJSON(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		return []byte("{}")
	}
	return data
}

func sse(v any) []byte { return append(append([]byte("data: "), mustJSON(v)...), "\n\n"...) }

// arguments are a call's arguments for a wire that wants an object.
func arguments(c schemas.ToolCall) json.RawMessage {
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(c.Function.Arguments), &object) != nil || object == nil {
		return json.RawMessage("{}")
	}
	return json.RawMessage(c.Function.Arguments)
}

func geminiSaid(s Said) [][]byte {
	var chunks [][]byte
	parts := func(finish string, parts ...any) {
		candidate := obj{"content": obj{"role": "model", "parts": parts}, "index": 0}
		event := obj{"candidates": []any{candidate}}
		if finish != "" {
			candidate["finishReason"] = finish
			event["usageMetadata"] = obj{
				"promptTokenCount": s.Usage.PromptTokens, "candidatesTokenCount": s.Usage.CompletionTokens, "totalTokenCount": s.Usage.TotalTokens,
			}
		}
		chunks = append(chunks, sse(event))
	}
	if s.Thinking != "" {
		parts("", obj{"text": s.Thinking, "thought": true})
	}
	if s.Text != "" {
		parts("", obj{"text": s.Text})
	}
	for _, c := range s.Calls {
		parts("", obj{"functionCall": obj{"name": c.Function.Name, "args": arguments(c)}})
	}
	switch s.Finish {
	case providers.FinishLength:
		parts("MAX_TOKENS", obj{"text": ""})
	case providers.FinishContentFilter:
		parts("SAFETY", obj{"text": ""})
	default:
		parts("STOP", obj{"text": ""})
	}
	return chunks
}

func openAISaid(s Said) [][]byte {
	var chunks [][]byte
	delta := func(d obj, finish any, usage any) {
		chunks = append(chunks, sse(obj{
			"id": "traced", "object": "chat.completion.chunk", "created": 0,
			"choices": []any{obj{"index": 0, "delta": d, "finish_reason": finish}}, "usage": usage,
		}))
	}
	if s.Thinking != "" {
		delta(obj{"role": "assistant", "reasoning_content": s.Thinking}, nil, nil)
	}
	if s.Text != "" {
		delta(obj{"role": "assistant", "content": s.Text}, nil, nil)
	}
	for i, c := range s.Calls {
		delta(obj{"tool_calls": []any{obj{
			"index": i, "id": c.ID, "type": "function", "function": obj{"name": c.Function.Name, "arguments": c.Function.Arguments},
		}}}, nil, nil)
	}
	delta(obj{}, cmp.Or(s.Finish, providers.FinishStop), obj{
		"prompt_tokens": s.Usage.PromptTokens, "completion_tokens": s.Usage.CompletionTokens, "total_tokens": s.Usage.TotalTokens,
	})
	last := len(chunks) - 1
	chunks[last] = append(chunks[last], "data: [DONE]\n\n"...)
	return chunks
}

func ollamaSaid(s Said) [][]byte {
	var chunks [][]byte
	line := func(message obj, more obj) {
		message["role"] = "assistant"
		if message["content"] == nil {
			message["content"] = ""
		}
		whole := obj{"message": message, "done": false}
		maps.Copy(whole, more)
		chunks = append(chunks, append(mustJSON(whole), '\n'))
	}
	if s.Thinking != "" {
		line(obj{"thinking": s.Thinking}, nil)
	}
	if s.Text != "" {
		line(obj{"content": s.Text}, nil)
	}
	for _, c := range s.Calls {
		line(obj{"tool_calls": []any{obj{"function": obj{"name": c.Function.Name, "arguments": arguments(c)}}}}, nil)
	}
	reason := "stop"
	if s.Finish == providers.FinishLength {
		reason = "length"
	}
	line(obj{}, obj{"done": true, "done_reason": reason, "prompt_eval_count": s.Usage.PromptTokens, "eval_count": s.Usage.CompletionTokens})
	return chunks
}
