package responses

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"reflect"
	"slices"

	"github.com/gin-gonic/gin"

	"molar/schemas"
	"molar/schemas/responses"
	"molar/web/turns"
	"molar/web/wire"
)

// A Request is the body of POST /v1/responses, with Molar's own fields. A field that is not named
// here is refused; those without effect are named because OpenAI's clients send them.
type Request struct {
	Model              string            `json:"model"`
	Input              json.RawMessage   `json:"input"`
	Instructions       *string           `json:"instructions"`
	PreviousResponseID *string           `json:"previous_response_id"`
	Conversation       json.RawMessage   `json:"conversation"`
	Store              *bool             `json:"store"`
	Stream             bool              `json:"stream"`
	Background         bool              `json:"background"`
	Tools              []json.RawMessage `json:"tools"`
	ToolChoice         json.RawMessage   `json:"tool_choice"`
	ParallelToolCalls  *bool             `json:"parallel_tool_calls"`
	MaxToolCalls       *int              `json:"max_tool_calls"`
	MaxOutputTokens    *int              `json:"max_output_tokens"`
	Text               struct {
		Format    *format `json:"format"`
		Verbosity string  `json:"verbosity"`
	} `json:"text"`
	Reasoning        responses.ReasoningField `json:"reasoning"`
	Truncation       string                   `json:"truncation"`
	Include          []string                 `json:"include"`
	Metadata         map[string]string        `json:"metadata"`
	Temperature      *float64                 `json:"temperature"`
	TopP             *float64                 `json:"top_p"`
	PresencePenalty  float64                  `json:"presence_penalty"`
	FrequencyPenalty float64                  `json:"frequency_penalty"`
	TopLogprobs      int                      `json:"top_logprobs"`
	ServiceTier      string                   `json:"service_tier"`
	SafetyIdentifier *string                  `json:"safety_identifier"`
	PromptCacheKey   *string                  `json:"prompt_cache_key"`
	Prompt           json.RawMessage          `json:"prompt"`

	// These have no effect here.
	User                 *string         `json:"user"`
	StreamOptions        *streamOptions  `json:"stream_options"`
	PromptCacheRetention *string         `json:"prompt_cache_retention"`
	PromptCacheOptions   json.RawMessage `json:"prompt_cache_options"`
	ClientMetadata       map[string]any  `json:"client_metadata"`
	// These are refused.
	ContextManagement json.RawMessage `json:"context_management"`
	Moderation        json.RawMessage `json:"moderation"`

	Molar struct {
		// Events adds our own events to a stream, such as steps and warnings.
		Events         bool   `json:"events"`
		Detach         bool   `json:"detach"`
		Provider       string `json:"provider"`
		Model          string `json:"model"`
		GuardrailModel string `json:"guardrail_model"`
		// Without are tools that are left out for this question, by their offered names or globs of them.
		Without []string `json:"without"`
	} `json:"molar"`

	// hash identifies the request for its Idempotency-Key.
	hash string
	key  string
	// size is the size of the body in bytes.
	size int
	// chain has the unstored responses of a WebSocket connection; nil without one.
	chain *socketChain
}

// streamOptions are parameters of a stream.
type streamOptions struct {
	IncludeObfuscation *bool `json:"include_obfuscation"`
}

// A format is the requested format of the answer.
type format struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description *string         `json:"description"`
	Schema      json.RawMessage `json:"schema"`
	Strict      bool            `json:"strict"`
}

func (f *format) description() string {
	if f.Description == nil {
		return ""
	}
	return *f.Description
}

func readRequest(r *http.Request) (*Request, error) {
	q := &Request{key: r.Header.Get("Idempotency-Key")}
	body, err := wire.ReadAll(r)
	if err != nil {
		return q, err
	}
	q.size = len(body)
	if len(q.key) > 255 {
		return q, wire.Invalid("", "the Idempotency-Key header is longer than 255 characters")
	}
	if q.key != "" {
		q.hash = turns.RequestHash(body, r.Header)
	}
	if err := wire.DecodeBody(body, q); err != nil {
		return q, err
	}
	return q, cmp.Or(unknownField(body, ""), q.check())
}

// unknownField refuses a field of a body that no request has. also is one more field that it may
// have.
func unknownField(body []byte, also string) error {
	var fields map[string]json.RawMessage
	if err := wire.Decode(body, &fields, ""); err != nil {
		return err
	}
	delete(fields, also)
	for f := range reflect.TypeFor[Request]().Fields() {
		delete(fields, f.Tag.Get("json"))
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		e := wire.Invalid(wire.Clip(name, 100), "the field %q is not known", wire.Clip(name, 100))
		e.Code = "unknown_parameter"
		return e
	}
	return nil
}

func (q *Request) stored() bool { return q.Store == nil || *q.Store }

// check refuses invalid fields, and fields that this server does not support if ignoring them would
// make the answer wrong.
func (q *Request) check() error {
	switch {
	case q.PreviousResponseID != nil && wire.IsSet(q.Conversation):
		return wire.Invalid("conversation", "conversation and previous_response_id exclude each other")
	case q.Background && !q.stored():
		return wire.Invalid("background", "a response in the background must be stored: leave store out")
	case q.MaxOutputTokens != nil && *q.MaxOutputTokens < 16:
		return wire.Invalid("max_output_tokens", "max_output_tokens must be at least 16")
	case q.MaxToolCalls != nil && *q.MaxToolCalls < 1:
		return wire.Invalid("max_tool_calls", "max_tool_calls must be at least 1")
	case q.Temperature != nil && (*q.Temperature < 0 || *q.Temperature > 2):
		return wire.Invalid("temperature", "temperature must lie between 0 and 2")
	case q.TopP != nil && (*q.TopP < 0 || *q.TopP > 1):
		return wire.Invalid("top_p", "top_p must lie between 0 and 1")
	case q.PresencePenalty != 0:
		return wire.Unsupported("presence_penalty", "presence_penalty is not known here: the models behind an assistant differ; leave it out")
	case q.FrequencyPenalty != 0:
		return wire.Unsupported("frequency_penalty", "frequency_penalty is not known here: the models behind an assistant differ; leave it out")
	case q.TopLogprobs != 0:
		return wire.Unsupported("top_logprobs", "logprobs are not known here: the models behind an assistant differ; leave top_logprobs out")
	case wire.IsSet(q.Prompt):
		return wire.Unsupported("prompt", "there are no stored prompts here: an assistant has its own; put the text into instructions")
	case wire.IsSet(q.ContextManagement):
		return wire.Unsupported("context_management", "this host shortens a long conversation by itself; leave context_management out")
	case wire.IsSet(q.Moderation):
		return wire.Unsupported("moderation", "nothing is moderated here: an assistant's topic is the operator's choice; leave moderation out")
	case !slices.Contains([]string{"", "auto", "disabled"}, q.Truncation):
		return wire.Invalid("truncation", "truncation must be auto or disabled")
	case !slices.Contains([]string{"", "auto", "default"}, q.ServiceTier):
		return wire.Unsupported("service_tier", "there are no service tiers here; leave service_tier out")
	}
	return q.checkForm()
}

func (q *Request) checkForm() error {
	if err := checkInclude(q.Include); err != nil {
		return err
	}
	if f := q.Text.Format; f != nil {
		if !slices.Contains([]string{"text", "json_object", "json_schema"}, f.Type) {
			return wire.Invalid("text.format.type", "text.format.type %q is not known; use text, json_object or json_schema", wire.Clip(f.Type, 40))
		}
	}
	if !slices.Contains([]string{"", "low", "medium", "high"}, q.Text.Verbosity) {
		return wire.Invalid("text.verbosity", "text.verbosity must be low, medium or high")
	}
	if e := q.Reasoning.Effort; e != nil && *e != "" && wire.Thinking(*e) == "" {
		return wire.Invalid("reasoning.effort", "reasoning.effort %q is not known; use none, minimal, low, medium, high, xhigh or max", wire.Clip(*e, 40))
	}
	if v := q.Reasoning.Summary; v != nil && !slices.Contains([]string{"auto", "concise", "detailed"}, *v) {
		return wire.Invalid("reasoning.summary", "reasoning.summary %q is not known; use auto, concise or detailed", wire.Clip(*v, 40))
	}
	if len(q.Metadata) > 16 {
		return wire.Invalid("metadata", "metadata holds at most 16 pairs")
	}
	for key, value := range q.Metadata {
		if len(key) > 64 || len(value) > 512 {
			return wire.Invalid("metadata", "a key of metadata has at most 64 characters, and a value 512")
		}
	}
	return nil
}

// What a response includes on request.
const (
	includeState    = "reasoning.encrypted_content"
	includePassages = "file_search_call.results"
	includePages    = "web_search_call.action.sources"
)

// checkInclude refuses what a response cannot include. What a response never has, or always, may be
// named.
func checkInclude(include []string) error {
	for _, what := range include {
		switch what {
		case includeState, includePassages, includePages, "message.input_image.image_url", "web_search_call.results", "code_interpreter_call.outputs", "computer_call_output.output.image_url":
		case "message.output_text.logprobs":
			return wire.Unsupported("include", "logprobs are not known here: the models behind an assistant differ; leave message.output_text.logprobs out")
		default:
			return wire.Invalid("include", "include cannot name %q", wire.Clip(what, 60))
		}
	}
	return nil
}

// checkQuery refuses invalid values of include in the query of a request. OpenAI's clients write it
// with brackets.
func checkQuery(c *gin.Context) error {
	return checkInclude(slices.Concat(c.QueryArray("include"), c.QueryArray("include[]")))
}

// thinking returns the requested reasoning; empty if the request has none.
func (q *Request) thinking() schemas.Thinking {
	if q.Reasoning.Effort == nil {
		return ""
	}
	return wire.Thinking(*q.Reasoning.Effort)
}

// schema returns the JSON Schema of the answer; nil for an answer in prose.
func (q *Request) schema() json.RawMessage {
	f := q.Text.Format
	if f == nil {
		return nil
	}
	return wire.AnswerSchema(f.Type, f.Schema, f.description())
}

// form returns an instruction for the model about the requested length; "" for none.
func (q *Request) form() string {
	switch q.Text.Verbosity {
	case "low":
		return "Keep the answer short."
	case "high":
		return "Answer at length."
	}
	return ""
}

// conversation returns the id of the conversation that the request names, directly or in an
// object.
func (q *Request) conversation() (string, error) {
	if !wire.IsSet(q.Conversation) {
		return "", nil
	}
	var id string
	if json.Unmarshal(q.Conversation, &id) != nil {
		var o responses.IDObject
		if json.Unmarshal(q.Conversation, &o) != nil {
			return "", wire.Invalid("conversation", "conversation must be an id, or an object that holds one")
		}
		id = o.ID
	}
	if !wire.IsID(id) {
		return "", wire.Invalid("conversation", "a conversation id is 1 to 128 characters of A-Z a-z 0-9 . _ : -")
	}
	return id, nil
}

// echo returns the response in its state before the turn begins, with the parameters of the
// request.
func (q *Request) echo(tools *toolbox) Response {
	r := Response{Response: responses.Response[any]{
		Object: "response", Status: responses.StatusInProgress, Model: q.Model, PreviousResponseID: q.PreviousResponseID,
		Instructions: q.Instructions, Output: []any{}, Tools: tools.echo, ToolChoice: q.ToolChoice,
		Truncation: "auto", ParallelToolCalls: q.ParallelToolCalls == nil || *q.ParallelToolCalls,
		Text: responses.TextField{Format: responses.TextFormat{Type: "text"}, Verbosity: q.Text.Verbosity},
		TopP: 1, Temperature: 1, Reasoning: q.Reasoning, MaxOutputTokens: q.MaxOutputTokens, MaxToolCalls: q.MaxToolCalls,
		Store: q.stored(), Background: q.Background, ServiceTier: "default", Metadata: q.Metadata,
		SafetyIdentifier: q.SafetyIdentifier, PromptCacheKey: q.PromptCacheKey,
	}}
	if id, _ := q.conversation(); id != "" { // checked before
		r.Conversation = &responses.IDObject{ID: id}
	}
	if q.PreviousResponseID != nil && *q.PreviousResponseID == "" {
		r.PreviousResponseID = nil
	}
	if q.Truncation != "" {
		r.Truncation = q.Truncation
	}
	switch {
	case tools.choice != nil:
		r.ToolChoice = tools.choice
	case !wire.IsSet(r.ToolChoice):
		r.ToolChoice = json.RawMessage(`"auto"`)
	}
	if r.Metadata == nil {
		r.Metadata = map[string]string{}
	}
	if q.TopP != nil {
		r.TopP = *q.TopP
	}
	if q.Temperature != nil {
		r.Temperature = *q.Temperature
	}
	if f := q.Text.Format; f != nil {
		r.Text.Format = responses.TextFormat{Type: f.Type}
		if f.Type == "json_schema" {
			description, _ := json.Marshal(f.Description) // a string or null
			r.Text.Format = responses.TextFormat{Type: f.Type, Name: f.Name, Description: description, Schema: f.Schema, Strict: &f.Strict}
		}
	}
	return r
}
