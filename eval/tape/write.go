package tape

import (
	"cmp"
	"encoding/json"
	"strings"
)

// A Call is a tool call. Arguments is JSON text.
type Call struct{ ID, Name, Arguments string }

// A WireAnswer is a model's answer.
type WireAnswer struct {
	Text, Thinking string
	Calls          []Call
	// Finish is stop, length, content_filter or tool_calls; stop when empty.
	Finish string
	// Prompt and Completion are tokens.
	Prompt, Completion int
	// Signature is added to the first call, for a service that signs thoughts.
	Signature string
	// Words splits the text into one chunk per word.
	Words bool
}

// A Stream is an answer as a service sends it.
type Stream struct {
	Path, ContentType string
	Chunks            [][]byte
}

const eventStream = "text/event-stream"

type object = map[string]any

// Stream encodes the answer in a wire, or in the first one of a provider.
func (a WireAnswer) Stream(wire, model string) Stream {
	w := wireOf(wire)
	return Stream{Path: w.path(model), ContentType: w.contentType, Chunks: w.write(a, model)}
}

// Refusal returns the body of an error response that every wire understands.
func Refusal(status int, message string) []byte {
	return encode(object{"error": object{"code": status, "status": "INVALID_ARGUMENT", "type": "invalid_request_error", "message": message}})
}

// refusalMessage returns the message of a [Refusal].
func refusalMessage(body []byte) string {
	var refusal struct{ Error struct{ Message string } }
	if json.Unmarshal(body, &refusal) != nil {
		return string(body)
	}
	return refusal.Error.Message
}

// encode marshals a value that consists only of texts, numbers and valid JSON.
func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		return []byte("{}")
	}
	return data
}

func event(v any) []byte { return append(append([]byte("data: "), encode(v)...), "\n\n"...) }

// texts returns the pieces of the text.
func (a WireAnswer) texts() []string {
	switch {
	case a.Text == "":
		return nil
	case a.Words:
		return strings.SplitAfter(a.Text, " ")
	}
	return []string{a.Text}
}

// arguments returns a call's arguments for a wire that requires an object.
func (c Call) arguments() json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal([]byte(c.Arguments), &members) != nil || members == nil {
		return json.RawMessage("{}")
	}
	return json.RawMessage(c.Arguments)
}

func (a WireAnswer) gemini() [][]byte {
	var chunks [][]byte
	parts := func(finish string, parts ...any) {
		candidate := object{"content": object{"role": "model", "parts": parts}, "index": 0}
		e := object{"candidates": []any{candidate}}
		if finish != "" {
			candidate["finishReason"] = finish
			e["usageMetadata"] = object{"promptTokenCount": a.Prompt, "candidatesTokenCount": a.Completion, "totalTokenCount": a.Prompt + a.Completion}
		}
		chunks = append(chunks, event(e))
	}
	if a.Thinking != "" {
		parts("", object{"text": a.Thinking, "thought": true})
	}
	for _, text := range a.texts() {
		parts("", object{"text": text})
	}
	for i, c := range a.Calls {
		part := object{"functionCall": object{"name": c.Name, "args": c.arguments()}}
		if i == 0 && a.Signature != "" {
			part["thoughtSignature"] = a.Signature
		}
		parts("", part)
	}
	finish := map[string]string{"length": "MAX_TOKENS", "content_filter": "SAFETY"}[a.Finish]
	parts(cmp.Or(finish, "STOP"), object{"text": ""})
	return chunks
}

func (a WireAnswer) openAI(model string) [][]byte {
	var chunks [][]byte
	delta := func(d object, finish, usage any) {
		e := object{
			"id": "taped", "object": "chat.completion.chunk", "created": 0, "model": model,
			"choices": []any{object{"index": 0, "delta": d, "finish_reason": finish}},
		}
		if usage != nil {
			e["usage"] = usage
		}
		chunks = append(chunks, event(e))
	}
	if a.Thinking != "" {
		delta(object{"role": "assistant", "reasoning_content": a.Thinking}, nil, nil)
	}
	for _, text := range a.texts() {
		delta(object{"role": "assistant", "content": text}, nil, nil)
	}
	finish := cmp.Or(a.Finish, "stop")
	for i, c := range a.Calls {
		if a.Finish == "" {
			finish = "tool_calls"
		}
		for n, piece := range halves(c.Arguments) {
			call := object{"index": i, "function": object{"arguments": piece}}
			if n == 0 {
				call = object{"index": i, "id": c.ID, "type": "function", "function": object{"name": c.Name, "arguments": piece}}
			}
			delta(object{"tool_calls": []any{call}}, nil, nil)
		}
	}
	delta(object{}, finish, object{"prompt_tokens": a.Prompt, "completion_tokens": a.Completion, "total_tokens": a.Prompt + a.Completion})
	last := len(chunks) - 1
	chunks[last] = append(chunks[last], "data: [DONE]\n\n"...)
	return chunks
}

func (a WireAnswer) anthropic(model string) [][]byte {
	var chunks [][]byte
	add := func(kind string, e object) {
		e["type"] = kind
		chunks = append(chunks, append([]byte("event: "+kind+"\n"), event(e)...))
	}
	index := 0
	block := func(start object, deltas ...object) {
		add("content_block_start", object{"index": index, "content_block": start})
		for _, d := range deltas {
			add("content_block_delta", object{"index": index, "delta": d})
		}
		add("content_block_stop", object{"index": index})
		index++
	}
	add("message_start", object{"message": object{
		"id": "taped", "type": "message", "role": "assistant", "model": model, "content": []any{}, "stop_reason": nil,
		"usage": object{"input_tokens": a.Prompt, "output_tokens": 1},
	}})
	if a.Thinking != "" {
		block(object{"type": "thinking", "thinking": "", "signature": ""}, object{"type": "thinking_delta", "thinking": a.Thinking}, object{"type": "signature_delta", "signature": cmp.Or(a.Signature, "c2lnbmVk")})
	}
	var deltas []object
	for _, text := range a.texts() {
		deltas = append(deltas, object{"type": "text_delta", "text": text})
	}
	if len(deltas) > 0 {
		block(object{"type": "text", "text": ""}, deltas...)
	}
	finish := map[string]string{"length": "max_tokens", "content_filter": "refusal"}[a.Finish]
	for _, c := range a.Calls {
		finish = cmp.Or(finish, "tool_use")
		var pieces []object
		for _, piece := range halves(c.Arguments) {
			pieces = append(pieces, object{"type": "input_json_delta", "partial_json": piece})
		}
		block(object{"type": "tool_use", "id": c.ID, "name": c.Name, "input": object{}}, pieces...)
	}
	add("message_delta", object{"delta": object{"stop_reason": cmp.Or(finish, "end_turn"), "stop_sequence": nil}, "usage": object{"output_tokens": a.Completion}})
	add("message_stop", object{})
	return chunks
}

// halves splits arguments in two, like a service that streams them.
func halves(s string) []string {
	if len(s) < 8 {
		return []string{s}
	}
	return []string{s[:len(s)/2], s[len(s)/2:]}
}

func (a WireAnswer) ollama(model string) [][]byte {
	var chunks [][]byte
	line := func(message, whole object) {
		message["role"] = "assistant"
		if message["content"] == nil {
			message["content"] = ""
		}
		whole["message"], whole["model"] = message, model
		chunks = append(chunks, append(encode(whole), '\n'))
	}
	if a.Thinking != "" {
		line(object{"thinking": a.Thinking}, object{"done": false})
	}
	for _, text := range a.texts() {
		line(object{"content": text}, object{"done": false})
	}
	for _, c := range a.Calls {
		line(object{"tool_calls": []any{object{"function": object{"name": c.Name, "arguments": c.arguments()}}}}, object{"done": false})
	}
	reason := "stop"
	if a.Finish == "length" {
		reason = "length"
	}
	line(object{}, object{"done": true, "done_reason": reason, "prompt_eval_count": a.Prompt, "eval_count": a.Completion})
	return chunks
}
