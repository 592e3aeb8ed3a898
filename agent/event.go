package agent

import (
	"encoding/json"
	"time"

	"molar/providers"
	"molar/schemas"
)

// An EventKind says what an [Event] reports, and which of its fields are set.
type EventKind string

// The kinds of event, in the order in which a turn may yield them.
const (
	// EventStart comes first: Start is set.
	EventStart EventKind = "start"
	// EventStep reports a step: Step and Text are set.
	EventStep EventKind = "step"
	// EventText is a piece of the answer: Text is set.
	EventText EventKind = "text"
	// EventThinking is a piece of the model's reasoning, which is no part of the
	// answer: Text is set.
	EventThinking EventKind = "thinking"
	// EventToolCall says that a call starts: Call is set, and Server and ToolName.
	EventToolCall EventKind = "tool_call"
	// EventToolResult is what it gave: Result is set, and Call.
	EventToolResult EventKind = "tool_result"
	// EventApproval says that a call waits for a person: Approval is set. It is
	// yielded by who asks, while the tools of a round run.
	EventApproval EventKind = "approval"
	// EventClientCalls lists the calls that the client has to run: Calls is set. Only
	// EventDone follows.
	EventClientCalls EventKind = "client_calls"
	// EventSources lists the sources of the answer: Sources is set. Their text form
	// has been yielded as EventText, if the client did not ask for JSON.
	EventSources EventKind = "sources"
	// EventWarning is something that the person should know: Text is set.
	EventWarning EventKind = "warning"
	// EventDone is the last event of a turn that ended well: Done is set.
	EventDone EventKind = "done"
)

// An Event is something that happened in a turn.
type Event struct {
	Kind EventKind
	// Step is a log mark such as "6.3".
	Step     string
	Text     string
	Call     *schemas.ToolCall
	Server   string
	ToolName string
	Result   *schemas.ToolResult
	Calls    []schemas.ToolCall
	Approval *Approval
	Sources  []schemas.Source
	Start    *Start
	Done     *Done
}

// Start is known as soon as the turn is accepted.
type Start struct {
	TurnID         string    `json:"turn_id"`
	ConversationID string    `json:"conversation_id"`
	Assistant      string    `json:"assistant"`
	Created        time.Time `json:"created"`
}

// An Approval is a call that waits for a person's decision.
type Approval struct {
	ID string `json:"id"`
	// Token proves that the decision is about exactly this call.
	Token string `json:"token"`
	// Tool is the offered name, Server the server that would run it.
	Tool   string `json:"tool"`
	Server string `json:"server"`
	TurnID string `json:"turn_id"`
	CallID string `json:"call_id"`
	// Arguments is the JSON object that the tool would be called with.
	Arguments json.RawMessage `json:"arguments"`
	// Why says which rule asks.
	Why string `json:"why"`
	// Expires is when the call counts as refused.
	Expires time.Time `json:"expires"`
}

// Done sums a turn up.
type Done struct {
	Finish providers.FinishReason `json:"finish_reason"`
	// Refused is set when the guardrail turned the question away.
	Refused  bool   `json:"refused,omitempty"`
	Provider string `json:"provider"`
	Model    string `json:"model,omitempty"`
	Language string `json:"language"`
	// Saved says whether the turn is in the store.
	Saved      bool          `json:"saved"`
	Usage      schemas.Usage `json:"usage"`
	ModelCalls int           `json:"model_calls"`
	ToolCalls  int           `json:"tool_calls"`
	// Calls are what the client has to run before the turn goes on.
	Calls []schemas.ToolCall `json:"client_calls,omitempty"`
	// Unapproved names the tools that needed a person's approval and had none.
	Unapproved []string         `json:"unapproved,omitempty"`
	Warnings   []string         `json:"warnings,omitempty"`
	Sources    []schemas.Source `json:"sources,omitempty"`
}
