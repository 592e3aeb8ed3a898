package responses

import (
	"encoding/json"
	"time"

	"molar/agent"
	"molar/agent/answer"
	"molar/schemas"
	"molar/schemas/responses"
	"molar/web/wire"
)

// A Response is the response object, with our own addition.
type Response struct {
	responses.Response[any]
	// Molar is the summary of the turn, once it has ended.
	Molar *molarField `json:"molar,omitempty"`
}

// Fail marks the response as failed.
func (r *Response) Fail(e *wire.Error) {
	r.Status, r.Error = responses.StatusFailed, &responses.Error{Code: e.Code, Message: wire.Clip(e.Message, wire.MaxMessage)}
}

func usageOf(u schemas.Usage) *responses.Usage {
	o := &responses.Usage{InputTokens: u.PromptTokens, OutputTokens: u.CompletionTokens, TotalTokens: u.TotalTokens}
	o.InputDetails.CachedTokens, o.OutputDetails.ReasoningTokens = u.CachedTokens, u.ReasoningTokens
	return o
}

// A molarField summarises the turn.
type molarField struct {
	ConversationID string `json:"conversation_id"`
	TurnID         string `json:"turn_id"`
	answer.Done
}

// A RefusalPart is a part of a message that is a text of the host, where the request wants JSON.
type RefusalPart struct {
	Type    string `json:"type"`
	Refusal string `json:"refusal"`
}

func newRefusal(text string) RefusalPart { return RefusalPart{"refusal", text} }

// An InputState is what a client keeps for the model between its requests.
type InputState struct {
	// Calls are the provider's private state by the ids of the client's calls that follow.
	Calls map[string]*schemas.ProviderState `json:"calls,omitempty"`
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
	Type    string               `json:"type"`
	Content []responses.TextPart `json:"content"`
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
	// Question is what a person is asked, in plain words; Shown are the arguments for them to read.
	Question agent.Asked `json:"question"`
	Shown    string      `json:"shown"`
	// Subject is what a permission beyond this call covers, Scopes are its possible scopes, and
	// Destinations what else it may cover.
	Subject      string              `json:"subject,omitempty"`
	Scopes       []agent.Scope       `json:"scopes,omitempty"`
	Destinations []agent.Destination `json:"destinations,omitempty"`
}

// An Event is a stream event.
type Event responses.Event[Response, any]

// An encodedEvent is an event as JSON.
type encodedEvent struct {
	Type string
	Data []byte
}

// Size returns the approximate size in bytes.
func (t encodedEvent) Size() int { return len(t.Type) + len(t.Data) + 64 }
