package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"

	"molar/providers"
	"molar/schemas/lower"
)

// body is the body of chat/completions.
type body struct {
	Model               string            `json:"model"`
	Messages            []message         `json:"messages"`
	Stream              bool              `json:"stream"`
	StreamOptions       *streamOptions    `json:"stream_options,omitempty"`
	Tools               []json.RawMessage `json:"tools,omitempty"`
	ToolChoice          string            `json:"tool_choice,omitempty"`
	Temperature         *float64          `json:"temperature,omitempty"`
	MaxTokens           int               `json:"max_tokens,omitempty"`
	MaxCompletionTokens int               `json:"max_completion_tokens,omitempty"`
	Stop                []string          `json:"stop,omitempty"`
	ResponseFormat      *responseFormat   `json:"response_format,omitempty"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type responseFormat struct {
	Type   string     `json:"type"`
	Schema jsonSchema `json:"json_schema"`
}

type jsonSchema struct {
	Name   string          `json:"name"`
	Strict bool            `json:"strict,omitempty"`
	Schema json.RawMessage `json:"schema"`
}

// prepare builds the body of a request. Tools are left out where none may be
// called: servers that do not know tool_choice would let the model call one.
func (p *Provider) prepare(req providers.Request) (*body, map[string]bool, error) {
	if req.Model == "" {
		return nil, nil, p.fail(providers.KindInvalid, "", errors.New("no model is named: set llm.openai.model"))
	}
	var set toolSet
	if req.ToolChoice != providers.ToolNone {
		set = p.tools.lower(req.Tools, p.log)
	}
	b := &body{
		Model: req.Model, Stream: true, StreamOptions: &streamOptions{IncludeUsage: true},
		Tools: set.wire, Temperature: req.Temperature, Stop: req.Stop,
	}
	var err error
	if b.Messages, err = p.messages(req, set.wrapped); err != nil {
		return nil, nil, p.fail(providers.KindInvalid, req.Model, err)
	}
	if len(b.Tools) > 0 && req.ToolChoice == providers.ToolRequired {
		b.ToolChoice = string(providers.ToolRequired)
	}
	if p.original {
		b.MaxCompletionTokens = req.MaxTokens
	} else {
		b.MaxTokens = req.MaxTokens
	}
	if len(b.Tools) == 0 && len(req.Schema) > 0 {
		schema, strict, err := lower.ForOpenAIAnswer(req.Schema)
		if err != nil {
			return nil, nil, p.fail(providers.KindInvalid, req.Model, err)
		}
		b.ResponseFormat = &responseFormat{"json_schema", jsonSchema{"answer", strict, schema}}
	}
	p.quirks.apply(b)
	return b, set.wrapped, nil
}

// post sends a body to chat/completions.
func (p *Provider) post(ctx context.Context, b *body) (*http.Response, error) {
	var data bytes.Buffer
	enc := json.NewEncoder(&data)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(b); err != nil {
		return nil, p.fail(providers.KindInvalid, b.Model, err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.chat, &data)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	return p.do(req)
}

func (p *Provider) do(req *http.Request) (*http.Response, error) {
	if p.key != "" {
		req.Header.Set("Authorization", "Bearer "+p.key)
	}
	return p.http.Do(req)
}

// parameters are the fields of the body without which a request still means the
// same, in the order in which they are given up.
func parameters() []string {
	return []string{"max_tokens", "max_completion_tokens", "temperature", "stop", "stream_options", "response_format"}
}

// drop takes a parameter out of the body, or puts it under its other name. It
// says whether it was there.
func (b *body) drop(parameter string) bool {
	before := *b
	switch parameter {
	case "max_tokens":
		if b.MaxTokens > 0 {
			b.MaxTokens, b.MaxCompletionTokens = 0, b.MaxTokens
		}
		return before.MaxTokens > 0
	case "max_completion_tokens":
		if b.MaxCompletionTokens > 0 {
			b.MaxTokens, b.MaxCompletionTokens = b.MaxCompletionTokens, 0
		}
		return before.MaxCompletionTokens > 0
	case "temperature":
		b.Temperature = nil
		return before.Temperature != nil
	case "stop":
		b.Stop = nil
		return len(before.Stop) > 0
	case "stream_options":
		b.StreamOptions = nil
		return before.StreamOptions != nil
	case "response_format":
		b.ResponseFormat = nil
		return before.ResponseFormat != nil
	}
	return false
}

// maxQuirks bounds the number of models that are remembered.
const maxQuirks = 256

// quirks remembers which parameters a model does not take: reasoning models
// refuse a temperature, for one.
type quirks struct {
	mu     sync.Mutex
	models map[string][]string
}

// apply drops what the body's model is known to refuse.
func (q *quirks) apply(b *body) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, parameter := range q.models[b.Model] {
		b.drop(parameter)
	}
}

// learn reads a refusal. When it names a parameter of the body, that one is
// dropped from now on, and its name returned.
func (q *quirks) learn(b *body, status int, f fault) string {
	if status != http.StatusBadRequest && status != http.StatusUnprocessableEntity || !f.refusesParameter() {
		return ""
	}
	for _, parameter := range parameters() {
		if f.names(parameter) && b.drop(parameter) {
			q.mu.Lock()
			defer q.mu.Unlock()
			if q.models == nil || len(q.models) >= maxQuirks {
				q.models = map[string][]string{}
			}
			q.models[b.Model] = append(q.models[b.Model], parameter)
			return parameter
		}
	}
	return ""
}

// refusesParameter says whether the fault is about a parameter that the model
// does not take.
func (f fault) refusesParameter() bool {
	text := strings.ToLower(f.code + " " + f.message)
	for _, sign := range []string{"unsupported", "not support", "unrecognized", "unknown", "unavailable", "extra inputs", "not permitted", "not allowed"} {
		if strings.Contains(text, sign) {
			return true
		}
	}
	return false
}

// names says whether the fault names a parameter. The text must quote it, unless
// it is no word of English.
func (f fault) names(parameter string) bool {
	if f.param != "" {
		return f.param == parameter
	}
	if strings.Contains(parameter, "_") {
		return strings.Contains(f.message, parameter)
	}
	for _, quote := range []string{"'", `"`, "`"} {
		if strings.Contains(f.message, quote+parameter+quote) {
			return true
		}
	}
	return false
}
