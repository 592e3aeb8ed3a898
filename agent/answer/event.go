package answer

import (
	"encoding/json"
	"time"

	"molar/agent/prompts"
	"molar/providers"
	"molar/schemas"
	"molar/toolhandler"
)

// A Kind is the type of an [Event]; it determines which fields are set.
type Kind string

// The kinds of event, in the order in which a turn may yield them.
const (
	// KindStart comes first: Start is set.
	KindStart Kind = "start"
	// KindStep reports a step: Step and Text are set.
	KindStep Kind = "step"
	// KindText is a piece of the answer: Text is set.
	KindText Kind = "text"
	// KindCommentary reports that the text since the last call precedes another call: Text repeats
	// it. It stays where it was shown, and is not part of the answer.
	KindCommentary Kind = "commentary"
	// KindReset reports that another process continues the turn, as the one that ran it is gone, and
	// asks its last round again: the text of that round, which Text repeats, is commentary. Each
	// continuation yields one, with or without text.
	KindReset Kind = "reset"
	// KindThinking is a piece of the model's reasoning, which is not part of the
	// answer: Text is set.
	KindThinking Kind = "thinking"
	// KindTools lists the servers' tools that are offered, where the turn asks for that:
	// Tools is set.
	KindTools Kind = "tools"
	// KindToolCall reports that a call starts: Call, Server and ToolName are set, and Asks if a
	// person is asked first.
	KindToolCall Kind = "tool_call"
	// KindToolResult is its result: Result and Call are set.
	KindToolResult Kind = "tool_result"
	// KindApproval reports a call pending approval: Approval is set. The approver yields it, while
	// the tools of a round run.
	KindApproval Kind = "approval"
	// KindQuestion reports that a server waits for a person's answer: Asked is set. KindProgress is
	// the progress of a call, and KindLog a line of its server's log: News is set. The turn's
	// Person yields them, while the tools of a round run.
	KindQuestion Kind = "question"
	KindProgress Kind = "progress"
	KindLog      Kind = "log"
	// KindClientCalls lists the calls that the client must run: Calls is set, and States if the
	// provider has state of them. Only KindDone follows.
	KindClientCalls Kind = "client_calls"
	// KindSources lists the sources of the answer: Sources is set. Their text form
	// has been yielded as KindText, if the client did not ask for JSON.
	KindSources Kind = "sources"
	// KindWarning is something that the person should know: Code and Text are set, Unsaved if the
	// store failed, Lasting if it is about the host, and Server if it is about a server.
	KindWarning Kind = "warning"
	// KindDone is the last event of a successful turn: Done is set.
	KindDone Kind = "done"
)

// A Code says what a warning is about.
type Code string

// The codes of warnings about the host, which have [Event.Lasting].
const (
	// CodeServerMissing: the tools of Server are missing.
	CodeServerMissing Code = "server_missing"
	// CodeStoreDown: the store of conversations does not answer.
	CodeStoreDown Code = "store_down"
	// CodeModelReplaced: another model answers than the one that was to.
	CodeModelReplaced Code = "model_replaced"
	// CodeBudgetLow: most of a budget is used.
	CodeBudgetLow Code = "budget_low"
	// CodeNoRoom: a tool is too large to be offered to this model.
	CodeNoRoom Code = "no_room"
)

// The codes of warnings about one answer.
const (
	// CodeLeftOut: a part of the request is left out, such as a tool of the client.
	CodeLeftOut Code = "left_out"
	// CodeFileUnread: a file or resource of the question is not read, or only in part.
	CodeFileUnread Code = "file_unread"
	// CodeNoSources: nothing could be looked up.
	CodeNoSources Code = "no_sources"
	// CodeNoAnswer: the answer was withheld or cut as a whole.
	CodeNoAnswer Code = "no_answer"
	// CodeNotKept: something of the turn could not be stored.
	CodeNotKept Code = "not_kept"
	// CodeNotice is a text of the host that would have made the JSON of the answer invalid.
	CodeNotice Code = "notice"
)

// An Event is something that happened in a turn.
type Event struct {
	Kind Kind
	// Step is a log mark such as "6.3".
	Step string
	Text string
	// Refusal marks a text of the host, such as a guardrail's refusal, which the client gets instead of
	// the JSON value that it asked for.
	Refusal bool
	Code    Code
	// Lasting is set on a warning about the state of the host, which goes on after this answer. Each
	// turn that it concerns repeats it: a client that shows a whole conversation should show it once,
	// until a turn comes without it.
	Lasting  bool
	Unsaved  bool
	Call     *schemas.ToolCall
	Server   string
	ToolName string
	// Effect is set on a call that may change something once it is sent, and on the result of one
	// that was sent: the tool is neither read-only nor idempotent.
	Effect bool
	// DecidedBy names the approver on the result of a call that needed one; Refused is set if they said no.
	DecidedBy string
	Refused   bool
	// Asks is set on a call that waits for a person before it is sent.
	Asks   bool
	Tools  []schemas.ToolInfo
	Result *schemas.ToolResult
	Calls  []schemas.ToolCall
	// States are the provider's private state by the ids of the calls. A client may only keep it
	// sealed.
	States   map[string]*schemas.ProviderState
	Approval *Approval
	Asked    *PendingQuestion
	News     *schemas.News
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
	// Token binds the decision to exactly this call.
	Token string `json:"token"`
	// Tool is the offered name, Server the server that would run it.
	Tool   string `json:"tool"`
	Server string `json:"server"`
	TurnID string `json:"turn_id"`
	CallID string `json:"call_id"`
	// Arguments is the JSON object that the tool would be called with.
	Arguments json.RawMessage `json:"arguments"`
	// Shown is the same for a person to read: on one line, with what cannot be seen or looks like
	// another character written out.
	Shown string `json:"shown"`
	// Question is what a person is asked, in plain words in the turn's language.
	Question prompts.Asked `json:"question"`
	// Why is why it asks, in English; Reason is the same as data.
	Why    string             `json:"why"`
	Reason toolhandler.Reason `json:"reason"`
	// Unsure is set on a call that was sent before the host stopped: it may have been done, and to
	// allow it is to send it again.
	Unsure bool `json:"unsure,omitempty"`
	// Destinations are what a lasting approval may cover, the call's own first; Scopes how far it may
	// reach.
	Destinations []toolhandler.Destination `json:"destinations,omitempty"`
	Scopes       []toolhandler.Scope       `json:"scopes,omitempty"`
	// Approvers are the groups whose members decide, if that is not left to the person who asks. Mine
	// reports whether the reader may decide; Person is the name of who asks, for other readers.
	Approvers []string `json:"approvers,omitempty"`
	Mine      bool     `json:"mine"`
	Person    string   `json:"person,omitempty"`
	// Expires is when the call counts as refused.
	Expires time.Time `json:"expires"`
}

// Subject describes what a lasting approval of exactly this call covers.
func (a Approval) Subject() string {
	if len(a.Destinations) == 0 {
		return a.Tool
	}
	return a.Destinations[0].Grant(a.Tool, "").Subject()
}

// A PendingQuestion is a server's question that waits for a person's answer.
type PendingQuestion struct {
	ID     string `json:"id"`
	TurnID string `json:"turn_id"`
	schemas.Question
	// Expires is when the question counts as cancelled.
	Expires time.Time `json:"expires"`
}

// Done summarises a turn.
type Done struct {
	Finish providers.FinishReason `json:"finish_reason"`
	// Refused is set when the guardrail refused the question.
	Refused  bool   `json:"refused,omitempty"`
	Provider string `json:"provider"`
	Model    string `json:"model,omitempty"`
	// Language of the turn: "vi", "en" or "other".
	Language string `json:"language"`
	// Saved reports whether the turn is in the store.
	Saved bool `json:"saved"`
	// Unsaved is set when it should be, but the store failed.
	Unsaved    bool          `json:"unsaved,omitempty"`
	Usage      schemas.Usage `json:"usage"`
	ModelCalls int           `json:"model_calls"`
	ToolCalls  int           `json:"tool_calls"`
	// Calls are what the client must run before the turn continues.
	Calls []schemas.ToolCall `json:"client_calls,omitempty"`
	// Emergency names the kinds of emergency that the question describes, the likeliest
	// first.
	Emergency []string `json:"emergency,omitempty"`
	// Unapproved names the tools that needed a person's approval and did not get it.
	Unapproved []string         `json:"unapproved,omitempty"`
	Warnings   []string         `json:"warnings,omitempty"`
	Sources    []schemas.Source `json:"sources,omitempty"`
	// Handover is why a hand-over to a person is offered beside the answer; empty if none is.
	Handover schemas.HandoverReason `json:"handover,omitempty"`
	// WithDesk is set if the message went to the desk, so that no model answered it.
	WithDesk bool `json:"with_desk,omitempty"`
}
