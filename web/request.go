package web

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"

	"molar/agent"
	"molar/schemas"
)

// A chatRequest is the body of POST /v1/chat/completions as OpenAI clients send it,
// with Molar's own fields. Fields that are not named here are ignored.
type chatRequest struct {
	Model         string            `json:"model"`
	Messages      []json.RawMessage `json:"messages"`
	Stream        bool              `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	N                   *int            `json:"n"`
	Temperature         *float64        `json:"temperature"`
	MaxTokens           int             `json:"max_tokens"`
	MaxCompletionTokens int             `json:"max_completion_tokens"`
	Stop                json.RawMessage `json:"stop"`
	ResponseFormat      responseFormat  `json:"response_format"`
	Logprobs            bool            `json:"logprobs"`
	Modalities          []string        `json:"modalities"`
	Tools               []wireTool      `json:"tools"`
	Functions           []any           `json:"functions"`
	ToolChoice          json.RawMessage `json:"tool_choice"`
	ParallelToolCalls   *bool           `json:"parallel_tool_calls"`
	ChatID              string          `json:"chat_id"`
	Metadata            struct {
		ConversationID string `json:"conversation_id"`
	} `json:"metadata"`
	Molar struct {
		Events bool `json:"events"`
		// HTML adds the answer as sanitised HTML to the events, block by block.
		HTML           bool   `json:"html"`
		Detach         bool   `json:"detach"`
		Provider       string `json:"provider"`
		Model          string `json:"model"`
		GuardrailModel string `json:"guardrail_model"`
	} `json:"molar"`
	OllamaModel          string `json:"ollama_model"`
	OllamaGuardrailModel string `json:"ollama_guardrail_model"`

	// hash identifies the request for its Idempotency-Key.
	hash string
}

type responseFormat struct {
	Type       string `json:"type"`
	JSONSchema struct {
		Schema json.RawMessage `json:"schema"`
	} `json:"json_schema"`
}

// readChat reads and checks the body. Every fault is the client's, so the error is
// an [*apiError] with a 4xx status.
func readChat(r *http.Request) (*chatRequest, error) {
	req := &chatRequest{}
	body, err := readAll(r)
	if err != nil {
		return req, err
	}
	if r.Header.Get("Idempotency-Key") != "" {
		req.hash = requestHash(body, r.Header)
	}
	return req, decodeBody(body, req)
}

// readBody reads the body of r, strict JSON, into v.
func readBody(r *http.Request, v any) error {
	body, err := readAll(r)
	if err != nil {
		return err
	}
	return decodeBody(body, v)
}

// readAll reads the body of r, as far as it may be long.
func readAll(r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(r.Body)
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, &apiError{
			status: http.StatusRequestEntityTooLarge, kind: typeInvalid,
			code: "request_too_large", message: "the body is larger than this server takes",
		}
	}
	if err != nil {
		return nil, invalid("", "the body broke off before its end")
	}
	return body, nil
}

// decodeBody reads a whole body of strict JSON into v.
func decodeBody(body []byte, v any) error {
	if err := schemas.CheckJSON(body); err != nil {
		return invalid("", "the body is %v", err)
	}
	return decode(body, v, "")
}

// decode reads a value of a body that was checked into v. It names the field at
// fault below the path at.
func decode(value []byte, v any, at string) error {
	err := json.Unmarshal(value, v)
	if err == nil {
		return nil
	}
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok {
		return invalid(at, "the body cannot be read: %v", err)
	}
	param := strings.Trim(at+"."+wrong.Field, ".")
	if param == "" {
		return invalid("", "the body must be a JSON object")
	}
	if number, ok := strings.CutPrefix(wrong.Value, "number "); ok {
		return invalid(param, "%s must be written as an integer of at most 64 bits, not %s", param, clip(number, 40))
	}
	return invalid(param, "%s must not be a JSON %s", param, wrong.Value)
}

// turn turns the request into the turn that it asks for.
func (q *chatRequest) turn(h http.Header) (agent.Turn, error) {
	var t agent.Turn
	if err := q.checkSupported(); err != nil {
		return t, err
	}
	list, err := readMessages(q.Messages)
	if err != nil {
		return t, err
	}
	conversation, err := q.conversation(h)
	if err != nil {
		return t, err
	}
	stop, err := readStop(q.Stop)
	if err != nil {
		return t, err
	}
	key := h.Get("Idempotency-Key")
	if len(key) > 255 {
		return t, invalid("", "the Idempotency-Key header is longer than 255 characters")
	}
	choice, err := q.tools()
	if err != nil {
		return t, err
	}
	t = agent.Turn{
		Assistant: q.Model, ConversationID: conversation, Key: key,
		Messages: list.messages, System: strings.Join(append(list.system, q.ResponseFormat.instructions()...), "\n\n"),
		Stateless:   conversation == "" && list.history,
		NoTools:     choice.none,
		ClientTools: choice.tools, Results: list.results,
		MustCall: choice.must, MustCallTool: choice.name,
		OneCall:     q.ParallelToolCalls != nil && !*q.ParallelToolCalls,
		JSON:        strings.HasPrefix(q.ResponseFormat.Type, "json"),
		Temperature: q.Temperature, MaxTokens: q.MaxTokens, Stop: stop,
	}
	if q.MaxCompletionTokens > 0 {
		t.MaxTokens = q.MaxCompletionTokens
	}
	q.setRoute(&t)
	return t, nil
}

// checkSupported refuses what this server would have to ignore at the price of a
// wrong answer.
func (q *chatRequest) checkSupported() error {
	switch {
	case len(q.Messages) == 0:
		return invalid("messages", "messages must hold at least one message")
	case q.N != nil && *q.N != 1:
		return invalid("n", "n must be 1: a turn has one answer")
	case q.MaxTokens < 0:
		return invalid("max_tokens", "max_tokens must not be negative")
	case q.MaxCompletionTokens < 0:
		return invalid("max_completion_tokens", "max_completion_tokens must not be negative")
	case q.Temperature != nil && (*q.Temperature < 0 || *q.Temperature > 2):
		return invalid("temperature", "temperature must lie between 0 and 2")
	case !slices.Contains([]string{"", "text", "json_object", "json_schema"}, q.ResponseFormat.Type):
		return invalid("response_format.type", "response_format.type %q is not known; use text, json_object or json_schema", q.ResponseFormat.Type)
	case !q.ResponseFormat.hasSchema():
		return invalid("response_format.json_schema.schema", "response_format.json_schema.schema must be a JSON Schema object")
	case q.Logprobs:
		return unsupported("logprobs", "logprobs are not known here: the models behind an assistant differ; leave the field out")
	case slices.ContainsFunc(q.Modalities, func(m string) bool { return m != "text" }):
		return unsupported("modalities", "an assistant answers with text only; leave modalities out")
	}
	return nil
}

// hasSchema reports whether the schema of the format, if it has one, is an object.
func (f responseFormat) hasSchema() bool {
	schema := f.JSONSchema.Schema
	return len(schema) == 0 || string(schema) == "null" || schema[0] == '{'
}

func unsupported(param, message string) *apiError {
	e := invalid(param, "%s", message)
	e.code = "unsupported_parameter"
	return e
}

// conversation returns the id of the conversation to continue, from whichever of
// the three places names it.
func (q *chatRequest) conversation(h http.Header) (string, error) {
	id := ""
	for _, from := range []struct{ param, id string }{
		{"chat_id", q.ChatID},
		{"X-Conversation-Id", h.Get("X-Conversation-Id")},
		{"metadata.conversation_id", q.Metadata.ConversationID},
	} {
		switch {
		case from.id == "":
		case !isID(from.id):
			return "", invalid(from.param, "a conversation id is 1 to 128 characters of A-Z a-z 0-9 . _ : -")
		case id != "" && id != from.id:
			return "", invalid(from.param, "the request names two conversations, %q and %q", id, from.id)
		default:
			id = from.id
		}
	}
	return id, nil
}

// setRoute takes the overrides of provider and models. The two top-level fields are
// an older form that names Ollama's models.
func (q *chatRequest) setRoute(t *agent.Turn) {
	t.Provider, t.Model, t.GuardrailModel = q.Molar.Provider, q.Molar.Model, q.Molar.GuardrailModel
	ollama := q.OllamaModel != "" || q.OllamaGuardrailModel != ""
	if ollama && (t.Provider == "" || t.Provider == "ollama") {
		t.Provider = "ollama"
		t.Model = firstOf(t.Model, q.OllamaModel)
		t.GuardrailModel = firstOf(t.GuardrailModel, q.OllamaGuardrailModel)
	}
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// readStop takes a string, a list of strings, or nothing.
func readStop(raw json.RawMessage) ([]string, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	var one string
	var stop []string
	if json.Unmarshal(raw, &one) == nil {
		stop = []string{one}
	} else if json.Unmarshal(raw, &stop) != nil {
		return nil, invalid("stop", "stop must be a string or a list of strings")
	}
	if slices.Contains(stop, "") {
		return nil, invalid("stop", "stop must not hold an empty string")
	}
	return stop, nil
}

// instructions puts the wanted form into words, since a turn only knows that the
// answer is to be JSON.
func (f responseFormat) instructions() []string {
	if f.Type != "json_schema" || len(f.JSONSchema.Schema) == 0 || string(f.JSONSchema.Schema) == "null" {
		return nil
	}
	return []string{"Answer with one JSON value that matches this JSON Schema:\n" + string(f.JSONSchema.Schema)}
}
