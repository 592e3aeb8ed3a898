package responses

import (
	"encoding/json"
	"time"

	"molar/agent"
	"molar/agent/answer"
	"molar/schemas"
	"molar/web/wire"
)

// The states of a response and of its items.
const (
	statusQueued     = "queued"
	statusInProgress = "in_progress"
	statusCompleted  = "completed"
	statusIncomplete = "incomplete"
	statusFailed     = "failed"
	statusCancelled  = "cancelled"
)

// A Response is the response object. It repeats the parameters of the request.
type Response struct {
	ID                 string            `json:"id"`
	Object             string            `json:"object"`
	CreatedAt          int64             `json:"created_at"`
	CompletedAt        *int64            `json:"completed_at"`
	Status             string            `json:"status"`
	IncompleteDetails  *incomplete       `json:"incomplete_details"`
	Model              string            `json:"model"`
	PreviousResponseID *string           `json:"previous_response_id"`
	Conversation       *IDObject         `json:"conversation,omitempty"`
	Instructions       *string           `json:"instructions"`
	Output             []any             `json:"output"`
	Error              *responseError    `json:"error"`
	Tools              []any             `json:"tools"`
	ToolChoice         json.RawMessage   `json:"tool_choice"`
	Truncation         string            `json:"truncation"`
	ParallelToolCalls  bool              `json:"parallel_tool_calls"`
	Text               TextField         `json:"text"`
	TopP               float64           `json:"top_p"`
	PresencePenalty    float64           `json:"presence_penalty"`
	FrequencyPenalty   float64           `json:"frequency_penalty"`
	TopLogprobs        int               `json:"top_logprobs"`
	Temperature        float64           `json:"temperature"`
	Reasoning          ReasoningField    `json:"reasoning"`
	Usage              *Usage            `json:"usage"`
	MaxOutputTokens    *int              `json:"max_output_tokens"`
	MaxToolCalls       *int              `json:"max_tool_calls"`
	Store              bool              `json:"store"`
	Background         bool              `json:"background"`
	ServiceTier        string            `json:"service_tier"`
	Metadata           map[string]string `json:"metadata"`
	SafetyIdentifier   *string           `json:"safety_identifier"`
	PromptCacheKey     *string           `json:"prompt_cache_key"`
	// Molar is our own addition: the summary of the turn, once it has ended.
	Molar *molarField `json:"molar,omitempty"`
}

type incomplete struct {
	Reason string `json:"reason"`
}

// An IDObject refers to a thing by its id.
type IDObject struct {
	ID string `json:"id"`
}

type responseError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Fail marks the response as failed.
func (r *Response) Fail(e *wire.Error) {
	r.Status, r.Error = statusFailed, &responseError{Code: e.Code, Message: wire.Clip(e.Message, wire.MaxMessage)}
}

// A TextField is the request's text parameters.
type TextField struct {
	Format    TextFormat `json:"format"`
	Verbosity string     `json:"verbosity,omitempty"`
}

// A TextFormat is the requested format of the text, as it was sent.
type TextFormat struct {
	Type        string          `json:"type"`
	Name        string          `json:"name,omitempty"`
	Description json.RawMessage `json:"description,omitempty"`
	Schema      json.RawMessage `json:"schema,omitempty"`
	Strict      *bool           `json:"strict,omitempty"`
}

// A ReasoningField is the request's reasoning parameters.
type ReasoningField struct {
	Effort  *string `json:"effort"`
	Summary *string `json:"summary"`
}

// Usage counts tokens.
type Usage struct {
	InputTokens  int `json:"input_tokens"`
	OutputTokens int `json:"output_tokens"`
	TotalTokens  int `json:"total_tokens"`
	InputDetails struct {
		CachedTokens int `json:"cached_tokens"`
	} `json:"input_tokens_details"`
	OutputDetails struct {
		ReasoningTokens int `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
}

func usageOf(u schemas.Usage) *Usage {
	o := &Usage{InputTokens: u.PromptTokens, OutputTokens: u.CompletionTokens, TotalTokens: u.TotalTokens}
	o.InputDetails.CachedTokens, o.OutputDetails.ReasoningTokens = u.CachedTokens, u.ReasoningTokens
	return o
}

// A molarField summarises the turn.
type molarField struct {
	ConversationID string `json:"conversation_id"`
	TurnID         string `json:"turn_id"`
	answer.Done
}

// A Message is an item of type message.
type Message struct {
	Type    string `json:"type"`
	ID      string `json:"id"`
	Status  string `json:"status"`
	Role    string `json:"role"`
	Phase   string `json:"phase,omitempty"`
	Content []any  `json:"content"`
}

// An OutputText is a part of a message.
type OutputText struct {
	Type        string     `json:"type"`
	Text        string     `json:"text"`
	Annotations []Citation `json:"annotations"`
	Logprobs    []struct{} `json:"logprobs"`
}

// A RefusalPart is a part of a message that is a text of the host, where the request wants JSON.
type RefusalPart struct {
	Type    string `json:"type"`
	Refusal string `json:"refusal"`
}

func newRefusal(text string) RefusalPart { return RefusalPart{"refusal", text} }

// newText returns a part without annotations.
func newText(text string) OutputText {
	return OutputText{Type: "output_text", Text: text, Annotations: []Citation{}, Logprobs: []struct{}{}}
}

// A Citation is a source, with the range of characters of the text that names it.
type Citation struct {
	Type       string `json:"type"`
	URL        string `json:"url"`
	Title      string `json:"title"`
	StartIndex int    `json:"start_index"`
	EndIndex   int    `json:"end_index"`
}

type functionCall struct {
	Type   string `json:"type"`
	ID     string `json:"id"`
	CallID string `json:"call_id"`
	// Namespace is empty for a function that was declared outside one.
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
	Status    string `json:"status"`
}

// A reasoning item holds the model's reasoning: as content, or as summary if the request asks
// for one.
type reasoning struct {
	Type    string     `json:"type"`
	ID      string     `json:"id"`
	Status  string     `json:"status"`
	Summary []TextPart `json:"summary"`
	Content []TextPart `json:"content,omitempty"`
	// EncryptedContent is a sealed [InputState], if the request asks for it.
	EncryptedContent string `json:"encrypted_content,omitempty"`
}

// An InputState is what a client keeps for the model between its requests.
type InputState struct {
	// Calls are the provider's private state by the ids of the client's calls that follow.
	Calls map[string]*schemas.ProviderState `json:"calls,omitempty"`
}

// A TextPart is a text part of a type other than output_text.
type TextPart struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type mcpListTools struct {
	Type        string    `json:"type"`
	ID          string    `json:"id"`
	ServerLabel string    `json:"server_label"`
	Tools       []mcpTool `json:"tools"`
}

type mcpTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"input_schema"`
}

// A searchCall is a search of the host that the request names by OpenAI's type: file_search_call or
// web_search_call.
type searchCall struct {
	Type   string `json:"type"`
	ID     string `json:"id"`
	Status string `json:"status"`
	// Queries are those of a file_search_call, and Results its passages, if the request includes
	// them.
	Queries []string  `json:"queries,omitempty"`
	Results []passage `json:"results,omitempty"`
	// Action is set on a web_search_call.
	Action *searchAction `json:"action,omitempty"`
}

// A passage is what a file_search_call found.
type passage struct {
	FileID   string  `json:"file_id"`
	Filename string  `json:"filename"`
	Score    float64 `json:"score"`
	Text     string  `json:"text"`
	// Attributes are empty.
	Attributes struct{} `json:"attributes"`
}

// A searchAction is what a web_search_call did.
type searchAction struct {
	Type    string   `json:"type"`
	Query   string   `json:"query"`
	Queries []string `json:"queries"`
	// Sources are the found pages, if the request includes them.
	Sources []page `json:"sources,omitempty"`
}

// A page is a page that a search found.
type page struct {
	Type string `json:"type"`
	URL  string `json:"url"`
}

// An mcpCall is a call of a server's tool that the host ran.
type mcpCall struct {
	Type              string    `json:"type"`
	ID                string    `json:"id"`
	ServerLabel       string    `json:"server_label"`
	Name              string    `json:"name"`
	Arguments         string    `json:"arguments"`
	Status            string    `json:"status"`
	ApprovalRequestID *string   `json:"approval_request_id"`
	Output            *string   `json:"output"`
	Error             *mcpError `json:"error"`
}

type mcpError struct {
	Type    string     `json:"type"`
	Content []TextPart `json:"content"`
}

// A questionItem is a server's question that ends the response: an item of type molar:answer
// answers it in the next request.
type questionItem struct {
	Type        string          `json:"type"`
	ID          string          `json:"id"`
	ServerLabel string          `json:"server_label"`
	Message     string          `json:"message"`
	Schema      json.RawMessage `json:"schema,omitempty"`
	URL         string          `json:"url,omitempty"`
	Expires     time.Time       `json:"expires"`
}

type mcpApprovalRequest struct {
	Type        string `json:"type"`
	ID          string `json:"id"`
	ServerLabel string `json:"server_label"`
	Name        string `json:"name"`
	Arguments   string `json:"arguments"`
	// Unsure is set on a call that was sent before the host stopped: it may have been done, and to
	// approve it is to send it again.
	Unsure bool `json:"unsure,omitempty"`
	// Subject is the subject of a permission beyond this call, Scopes are its possible scopes.
	Subject string        `json:"subject,omitempty"`
	Scopes  []agent.Scope `json:"scopes,omitempty"`
}

// An Event is a stream event. Its type decides which fields are set.
type Event struct {
	Type         string      `json:"type"`
	Sequence     int         `json:"sequence_number"`
	Response     *Response   `json:"response,omitempty"`
	ItemID       string      `json:"item_id,omitempty"`
	OutputIndex  *int        `json:"output_index,omitempty"`
	ContentIndex *int        `json:"content_index,omitempty"`
	SummaryIndex *int        `json:"summary_index,omitempty"`
	CitationNo   *int        `json:"annotation_index,omitempty"`
	Item         any         `json:"item,omitempty"`
	Part         any         `json:"part,omitempty"`
	Delta        *string     `json:"delta,omitempty"`
	Text         *string     `json:"text,omitempty"`
	Refusal      *string     `json:"refusal,omitempty"`
	Arguments    *string     `json:"arguments,omitempty"`
	Logprobs     *[]struct{} `json:"logprobs,omitempty"`
	Annotation   *Citation   `json:"annotation,omitempty"`
	Error        *EventError `json:"error,omitempty"`
	// Molar is the data of an event type of our own.
	Molar any `json:"molar,omitempty"`
}

// An EventError is the content of an error event.
type EventError struct {
	Type    string  `json:"type"`
	Code    *string `json:"code"`
	Message string  `json:"message"`
	Param   *string `json:"param"`
}

// An encodedEvent is an event as JSON.
type encodedEvent struct {
	Type string
	Data []byte
}

// Size returns the approximate size in bytes.
func (t encodedEvent) Size() int { return len(t.Type) + len(t.Data) + 64 }
