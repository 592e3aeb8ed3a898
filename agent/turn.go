package agent

import (
	"slices"

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
)

// A Turn is one user message to be answered.
type Turn struct {
	// ID is a UUID; Run makes one when it is empty.
	ID string
	// Assistant is the name that a client chooses as the OpenAI model; empty means
	// the default assistant.
	Assistant string
	// ConversationID continues a conversation, or names a new one. When empty, Run
	// makes one ("chat_" and a UUID).
	ConversationID string
	// Owner is whose conversation it is; empty without API keys.
	Owner string
	// Messages is what the client sent. The last message of role user is the
	// question. Unless Stateless is set, earlier messages are ignored: the store
	// knows better.
	Messages []schemas.Message
	// Attachments are texts beside the question, which the model reads as data.
	Attachments []Attachment
	// System is system text from the client. It goes below the assistant's own.
	System string
	// Stateless turns take their history from Messages and save nothing.
	Stateless bool
	// Provider, Model and GuardrailModel override the configured route.
	Provider       string
	Model          string
	GuardrailModel string
	// NoTools offers no tool to the model. The assistant's own search still runs.
	NoTools bool
	// MaxRounds lowers the limit of tool rounds; zero keeps it.
	MaxRounds int
	// JSON says that the client asked for a JSON answer: sources travel as data
	// only.
	JSON bool
	// Key makes saving idempotent: a second turn with the same key stores nothing.
	// The turn's id is used when it is empty.
	Key string
	// Approver asks a person about calls that need it; nil when nobody is there.
	Approver toolhandler.Approver
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
	// Sampling, passed to the model as it is.
	Temperature *float64
	MaxTokens   int
	Stop        []string
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
