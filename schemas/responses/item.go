package responses

import "encoding/json"

// The types of items that this program reads and writes; servers have more.
const (
	TypeMessage      = "message"
	TypeReasoning    = "reasoning"
	TypeFunctionCall = "function_call"
	TypeOutput       = "function_call_output"
)

// The phases of a message of the model. A message before a call is commentary. A request should
// repeat the phase of an earlier message.
const (
	PhaseCommentary  = "commentary"
	PhaseFinalAnswer = "final_answer"
)

// The states of a response and of its items.
const (
	StatusQueued     = "queued"
	StatusInProgress = "in_progress"
	StatusCompleted  = "completed"
	StatusIncomplete = "incomplete"
	StatusFailed     = "failed"
	StatusCancelled  = "cancelled"
)

// The reasons of an incomplete response.
const (
	ReasonMaxTokens     = "max_output_tokens"
	ReasonContentFilter = "content_filter"
)

// An Item is an item of an input or of an output, with the fields of all types. It is read in any
// form, and written in that of an input.
type Item struct {
	Type  string `json:"type"`
	ID    string `json:"id,omitempty"`
	Role  string `json:"role,omitempty"`
	Phase string `json:"phase,omitempty"`
	// Content is a text or a list of [Part].
	Content   json.RawMessage `json:"content,omitempty"`
	CallID    string          `json:"call_id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Namespace string          `json:"namespace,omitempty"`
	Arguments string          `json:"arguments,omitempty"`
	// Output is a text or a list of [Part].
	Output      json.RawMessage `json:"output,omitempty"`
	ServerLabel string          `json:"server_label,omitempty"`
	Error       json.RawMessage `json:"error,omitempty"`

	ApprovalRequestID string `json:"approval_request_id,omitempty"`
	Approve           *bool  `json:"approve,omitempty"`
	// Scope is how far an approval reaches: once, conversation or always. It is our own field, like
	// QuestionID, the id of an answered question.
	Scope string `json:"scope,omitempty"`
	// Destination is the id of what an approval with a scope covers.
	Destination string `json:"destination,omitempty"`
	QuestionID  string `json:"question_id,omitempty"`
	// Action is a word in an answer to a question, and an object in a search.
	Action json.RawMessage `json:"action,omitempty"`
	// Summary is a list of [TextPart].
	Summary          json.RawMessage `json:"summary,omitempty"`
	EncryptedContent string          `json:"encrypted_content,omitempty"`

	// Raw is the JSON of the item as it was received.
	Raw json.RawMessage `json:"-"`
}

// A Part is a part of the content of a message, or of the output of a call.
type Part struct {
	Type     string `json:"type"`
	Text     string `json:"text,omitempty"`
	Refusal  string `json:"refusal,omitempty"`
	ImageURL string `json:"image_url,omitempty"`
	FileURL  string `json:"file_url,omitempty"`
	FileID   string `json:"file_id,omitempty"`
	Filename string `json:"filename,omitempty"`
	// FileData is a data URL.
	FileData string `json:"file_data,omitempty"`
	Audio    *Audio `json:"input_audio,omitempty"`
	// Molar holds this host's own fields of an input_text.
	Molar *PartFields `json:"molar,omitempty"`
}

// PartFields are this host's own fields of a text part.
type PartFields struct {
	// Origin says who wrote the text, if it is not the person who sends the message.
	Origin string `json:"origin,omitempty"`
}

// An Audio is a sound. Data is base64; Format is a name, such as wav.
type Audio struct {
	Data   string `json:"data"`
	Format string `json:"format"`
}

// A TextPart is a text of a summary, or of reasoning.
type TextPart struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// A Message is a message of a model in an output.
type Message struct {
	Type    string `json:"type"`
	ID      string `json:"id"`
	Status  string `json:"status"`
	Role    string `json:"role"`
	Phase   string `json:"phase,omitempty"`
	Content []any  `json:"content"`
}

// An OutputText is a part of a message in an output.
type OutputText struct {
	Type        string     `json:"type"`
	Text        string     `json:"text"`
	Annotations []Citation `json:"annotations"`
	Logprobs    []struct{} `json:"logprobs"`
}

// NewText returns a part without annotations.
func NewText(text string) OutputText {
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

// A FunctionCall is a call of a function in an output: the one who sent the request runs it.
type FunctionCall struct {
	Type   string `json:"type"`
	ID     string `json:"id"`
	CallID string `json:"call_id"`
	// Namespace is empty for a function that was declared outside one.
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
	Status    string `json:"status"`
}

// A Reasoning is the reasoning of a model in an output: as content, or as a summary if the request
// asks for one.
type Reasoning struct {
	Type    string     `json:"type"`
	ID      string     `json:"id"`
	Status  string     `json:"status"`
	Summary []TextPart `json:"summary"`
	Content []TextPart `json:"content,omitempty"`
	// EncryptedContent can be read by the service only, if the request asks for it.
	EncryptedContent string `json:"encrypted_content,omitempty"`
}
