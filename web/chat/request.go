package chat

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"molar/agent"
	"molar/web/turns"
	"molar/web/wire"
)

// A chatRequest is the body of POST /v1/chat/completions as OpenAI clients send it,
// with Molar's own fields. Fields that are not named here are ignored.
type chatRequest struct {
	Model         string            `json:"model"`
	Messages      []json.RawMessage `json:"messages"`
	Stream        bool              `json:"stream"`
	Store         *bool             `json:"store"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	N                   *int            `json:"n"`
	Temperature         *float64        `json:"temperature"`
	TopP                *float64        `json:"top_p"`
	Seed                *int64          `json:"seed"`
	ReasoningEffort     string          `json:"reasoning_effort"`
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
		HTML   bool `json:"html"`
		Detach bool `json:"detach"`
		// Parent is the id of the turn that this one follows; "" means that it is the first of
		// a new branch. Absent means the newest turn.
		Parent         *string `json:"parent"`
		Provider       string  `json:"provider"`
		Model          string  `json:"model"`
		GuardrailModel string  `json:"guardrail_model"`
		// Without are tools that are left out for this question, by their offered names or globs of them.
		Without []string `json:"without"`
	} `json:"molar"`
	OllamaModel          string `json:"ollama_model"`
	OllamaGuardrailModel string `json:"ollama_guardrail_model"`

	// hash identifies the request for its Idempotency-Key.
	hash string
	// size is the size of the body in bytes, text approximately that without the files.
	size, text int
}

type responseFormat struct {
	Type       string `json:"type"`
	JSONSchema struct {
		Description string          `json:"description"`
		Schema      json.RawMessage `json:"schema"`
	} `json:"json_schema"`
}

// readChat reads and decodes the body. Its errors are of type [*wire.Error].
func readChat(r *http.Request) (*chatRequest, error) {
	req := &chatRequest{}
	body, err := wire.ReadAll(r)
	if err != nil {
		return req, err
	}
	req.size = len(body)
	if r.Header.Get("Idempotency-Key") != "" {
		req.hash = turns.RequestHash(body, r.Header)
	}
	return req, wire.DecodeBody(body, req)
}

// turn returns the requested turn.
func (q *chatRequest) turn(h http.Header) (agent.Turn, error) {
	var t agent.Turn
	if err := q.checkSupported(); err != nil {
		return t, err
	}
	list, err := readMessages(q.Messages)
	if err != nil {
		return t, err
	}
	q.text = q.size - list.files
	conversation, err := q.conversation(h)
	if err != nil {
		return t, err
	}
	parent, err := q.parent(conversation)
	if err != nil {
		return t, err
	}
	stop, err := readStop(q.Stop)
	if err != nil {
		return t, err
	}
	key := h.Get("Idempotency-Key")
	if len(key) > 255 {
		return t, wire.Invalid("", "the Idempotency-Key header is longer than 255 characters")
	}
	choice, err := q.tools()
	if err != nil {
		return t, err
	}
	unstored := q.Store != nil && !*q.Store
	t = agent.Turn{
		Assistant: q.Model,
		Place: agent.Place{
			ConversationID: conversation, Parent: parent, Key: key,
			Stateless: conversation == "" && (list.history || unstored),
			ReadOnly:  conversation != "" && unstored,
		},
		Messages: list.messages, Attachments: list.attached, System: strings.Join(list.system, "\n\n"),
		Schema: wire.AnswerSchema(q.ResponseFormat.Type, q.ResponseFormat.JSONSchema.Schema, q.ResponseFormat.JSONSchema.Description),
		Sampling: agent.Sampling{
			Temperature: q.Temperature, TopP: q.TopP, MaxTokens: q.MaxTokens, Stop: stop, Seed: q.Seed, Thinking: wire.Thinking(q.ReasoningEffort),
		},
		Client: agent.Client{
			ClientTools: choice.tools, Results: list.results, MustCall: choice.must, MustCallTool: choice.name,
			OneCall: q.ParallelToolCalls != nil && !*q.ParallelToolCalls,
		},
		ServerTools: agent.ServerTools{NoTools: choice.none, Without: q.Molar.Without},
	}
	if q.MaxCompletionTokens > 0 {
		t.MaxTokens = q.MaxCompletionTokens
	}
	q.setRoute(&t)
	return t, nil
}

// checkSupported refuses invalid fields, and fields that this server does not support if ignoring
// them would make the answer wrong.
func (q *chatRequest) checkSupported() error {
	switch {
	case len(q.Messages) == 0:
		return wire.Invalid("messages", "messages must hold at least one message")
	case q.N != nil && *q.N != 1:
		return wire.Invalid("n", "n must be 1: a turn has one answer")
	case q.MaxTokens < 0:
		return wire.Invalid("max_tokens", "max_tokens must not be negative")
	case q.MaxCompletionTokens < 0:
		return wire.Invalid("max_completion_tokens", "max_completion_tokens must not be negative")
	case q.Temperature != nil && (*q.Temperature < 0 || *q.Temperature > 2):
		return wire.Invalid("temperature", "temperature must lie between 0 and 2")
	case q.TopP != nil && (*q.TopP < 0 || *q.TopP > 1):
		return wire.Invalid("top_p", "top_p must lie between 0 and 1")
	case !slices.Contains([]string{"", "text", "json_object", "json_schema"}, q.ResponseFormat.Type):
		return wire.Invalid("response_format.type", "response_format.type %q is not known; use text, json_object or json_schema", q.ResponseFormat.Type)
	case q.Logprobs:
		return wire.Unsupported("logprobs", "logprobs are not known here: the models behind an assistant differ; leave the field out")
	case slices.ContainsFunc(q.Modalities, func(m string) bool { return m != "text" }):
		return wire.Unsupported("modalities", "an assistant answers with text only; leave modalities out")
	}
	return nil
}

// conversation returns the id of the conversation to continue, from the three fields that can name
// it, or "".
func (q *chatRequest) conversation(h http.Header) (string, error) {
	id := ""
	for _, from := range []struct{ param, id string }{
		{"chat_id", q.ChatID},
		{"X-Conversation-Id", h.Get("X-Conversation-Id")},
		{"metadata.conversation_id", q.Metadata.ConversationID},
	} {
		switch {
		case from.id == "":
		case !wire.IsID(from.id):
			return "", wire.Invalid(from.param, "a conversation id is 1 to 128 characters of A-Z a-z 0-9 . _ : -")
		case id != "" && id != from.id:
			return "", wire.Invalid(from.param, "the request names two conversations, %q and %q", id, from.id)
		default:
			id = from.id
		}
	}
	return id, nil
}

// parent returns the turn that this one follows; nil means the newest. A parent other than ""
// requires a conversation.
func (q *chatRequest) parent(conversation string) (*string, error) {
	parent := q.Molar.Parent
	switch {
	case parent == nil || conversation == "" && *parent == "":
		return nil, nil
	case conversation == "":
		return nil, wire.Invalid("molar.parent", "molar.parent %q is a turn of a conversation: name that in chat_id", wire.Clip(*parent, 100))
	case *parent != "" && !wire.IsID(*parent):
		return nil, wire.Invalid("molar.parent", "there is no turn %q: molar.parent is the id of a turn", wire.Clip(*parent, 100))
	}
	return parent, nil
}

// setRoute sets the requested provider and models. The two top-level fields with Ollama's models
// are an older form.
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

// readStop reads stop: a string, a list of strings, or nothing.
func readStop(raw json.RawMessage) ([]string, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	var one string
	var stop []string
	if json.Unmarshal(raw, &one) == nil {
		stop = []string{one}
	} else if json.Unmarshal(raw, &stop) != nil {
		return nil, wire.Invalid("stop", "stop must be a string or a list of strings")
	}
	if slices.Contains(stop, "") {
		return nil, wire.Invalid("stop", "stop must not hold an empty string")
	}
	return stop, nil
}
