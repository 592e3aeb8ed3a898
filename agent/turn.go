package agent

import (
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"molar/providers"
	"molar/schemas"
	"molar/toolhandler"
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

var (
	// ErrInvalid says that the turn can never succeed as it is. It names the fault.
	ErrInvalid = errors.New("invalid request")
	// ErrToolChoice is an ErrInvalid: the tool that the turn must call is not offered.
	ErrToolChoice = fmt.Errorf("%w: tool_choice", ErrInvalid)
)

// Question returns the last message of role user, and false when there is none
// with any text in it.
func (t Turn) Question() (string, bool) {
	message, err := t.Asked()
	return message.Said(), err == nil
}

// Asked returns the last message of role user, which must have readable text.
func (t Turn) Asked() (schemas.Message, error) {
	for _, m := range slices.Backward(t.Messages) {
		if m.Role != schemas.RoleUser {
			continue
		}
		switch said := m.Said(); {
		case said == "":
			return m, fmt.Errorf("%w: the last user message has no text", ErrInvalid)
		case !utf8.ValidString(said):
			return m, fmt.Errorf("%w: the last user message is not valid UTF-8", ErrInvalid)
		}
		return m, nil
	}
	return schemas.Message{}, fmt.Errorf("%w: there is no message of role user", ErrInvalid)
}
