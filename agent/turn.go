package agent

import (
	"slices"

	"molar/providers"
	"molar/schemas"
	"molar/toolhandler"
)

// What a turn asks a person, in the words of those who know the agent only.
type (
	// Approver asks a person about a call.
	Approver = toolhandler.Approver
	// Ask is what it asks.
	Ask = toolhandler.Approval
	// Decision is the person's answer.
	Decision = toolhandler.Decision
	// Person can be reached by servers while their tools run.
	Person = toolhandler.Person
	// Question is what a server wants to know from them.
	Question = toolhandler.Question
)

// A Turn is one user message to be answered.
type Turn struct {
	// ID is a UUID; Run makes one when it is empty.
	ID string
	// Assistant is the name that a client chooses as the OpenAI model; empty means the
	// one that the conversation has, else the default assistant.
	Assistant string
	Place
	// Messages is what the client sent. The last message of role user is the
	// question. Unless Stateless is set, earlier messages are ignored: the store
	// knows better.
	Messages []schemas.Message
	// Attachments are texts beside the question, which the model reads as data.
	Attachments []Attachment
	// System is system text from the client. It goes below the assistant's own; under a topic
	// it is left out, unless the assistant says otherwise.
	System string
	// Form says in which form the client wants the answer.
	Form string
	Wanted
	Sampling
	ServerTools
	Client
	// JSON says that the client asked for a JSON answer: sources travel as data
	// only.
	JSON bool
	// Approver asks a person about calls that need it; nil when nobody is there.
	Approver toolhandler.Approver
	// Person can be reached by servers while their tools run; nil when nobody is there.
	Person toolhandler.Person
}

// Place is where a turn belongs, and what is kept of it.
type Place struct {
	// ConversationID continues a conversation, or names a new one. When empty, Run
	// makes one ("chat_" and a UUID).
	ConversationID string
	// Parent is the id of the turn that this one follows: another one than the
	// conversation's newest makes a branch beside what came after it. nil follows the
	// newest, and "" begins the conversation anew.
	Parent *string
	// Owner is whose conversation it is; empty without API keys.
	Owner string
	// Key makes saving idempotent: a second turn with the same key stores nothing.
	// The turn's id is used when it is empty.
	Key string
	// Stateless turns take their history from Messages and save nothing.
	Stateless bool
	// ReadOnly turns read their conversation and save nothing of themselves.
	ReadOnly bool
	// WholeHistory ends a turn, before any model call, whose conversation does not fit
	// into the model's context without its summary.
	WholeHistory bool
}

// Wanted overrides the configured provider and models; each may be empty.
type Wanted struct {
	Provider       string
	Model          string
	GuardrailModel string
}

// Sampling is passed to the model as it is; what is zero is the model's own.
type Sampling struct {
	Temperature *float64
	TopP        *float64
	MaxTokens   int
	Stop        []string
	Seed        *int64
	Thinking    providers.Thinking
}

// ServerTools narrows what the model may do with the tools of servers. The assistant's own
// search runs whatever it says.
type ServerTools struct {
	// NoTools offers no tool to the model, also none of the client's.
	NoTools bool
	// Narrow makes the servers' tools fewer or stricter: it returns a tool as it may be
	// called in this turn, and false for one that may not. It can widen nothing: a tool
	// that is withheld without it stays so. nil leaves all as they are.
	Narrow func(schemas.Tool) (schemas.Tool, bool)
	// ListTools yields the servers' tools that are offered, as [EventTools].
	ListTools bool
	// MaxRounds lowers the limit of tool rounds, MaxCalls that of the calls that servers
	// run; zero keeps it.
	MaxRounds int
	MaxCalls  int
}

// Client is what the client says of tools.
type Client struct {
	// ClientTools are tools that the client runs by itself. Only Name, Description and
	// InputSchema are set. A call to one ends the turn with an [EventClientCalls]; a
	// turn with Results continues it. One that has the name of a server's tool hides
	// that.
	ClientTools []schemas.ToolInfo
	// Results are what the client's tools gave, by the id of the call. The turn then
	// continues the one that ended in these calls: it is neither judged nor saved
	// twice. When that turn is no longer kept, this one begins anew, with the calls
	// and results as Messages holds them after the question.
	Results []schemas.ToolResult
	// MustCall makes the first round call a tool; MustCallTool names which one.
	MustCall     bool
	MustCallTool string
	// OneCall takes only the first call of each round.
	OneCall bool
}

// Question returns the last message of role user, and false when there is none
// with any text in it.
func (t Turn) Question() (string, bool) {
	for _, v := range slices.Backward(t.Messages) {
		if v.Role == schemas.RoleUser {
			said := v.Said()
			return said, said != ""
		}
	}
	return "", false
}
