package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"molar/agent/answer"
	"molar/agent/journal"
	"molar/schemas"
	"molar/toolhandler"
)

// A Turn is one user message to be answered.
type Turn struct {
	// ID is a UUID; Run makes one when it is empty.
	ID string
	// Assistant is the name that a client chooses as the OpenAI model; empty means the
	// conversation's, else the default assistant.
	Assistant string
	Place
	// Messages is what the client sent. The last message of role user is the question. Unless
	// Stateless is set, earlier messages are ignored: the store has them.
	Messages []schemas.Message
	// Attachments are texts attached to the question, which the model reads as data.
	Attachments []Attachment
	// System is system text from the client. It goes below the assistant's own; under a topic it is
	// left out, unless the assistant allows it.
	System string
	// SystemFrom is the origin of System, Form, Schema and what ClientTools say, if the operator does not
	// answer for the client: [schemas.FromClient]. Data is set if the client's messages are what others wrote, and not typed.
	SystemFrom schemas.Origin `json:",omitempty"`
	Data       bool           `json:",omitempty"`
	// Form describes the form that the client wants the answer in, such as its length.
	Form string
	// Schema is the JSON Schema of the JSON value that the client wants as the answer;
	// [providers.AnyObject] if it only wants some object, nil for an answer in prose. The sources of a
	// JSON answer are sent as data only. The turn fails with ErrSchema if the model keeps to no schema.
	Schema json.RawMessage `json:",omitempty"`
	ModelChoice
	Sampling
	ServerTools
	Client
	// Warnings are told to the person at the start, such as what of the request is left out.
	Warnings []string
	// Rights are what the person's groups allow; nil without limit. They are not kept with the turn:
	// one that is continued gets those that its owner has then.
	Rights *schemas.Rights `json:"-"`
	// Caller is the person who asks: those who approve their calls read the name, and servers are called
	// as this person. The zero Caller is nobody.
	Caller schemas.Caller `json:",omitzero"`
	// AskNever means that nobody is asked, now or later: a call that needs a person's approval is
	// denied. A standing approval counts.
	AskNever bool `json:",omitempty"`
	// Visitor is set for somebody on a public page: they get no tool that may write unless the operator
	// allowed it, and may ask to be handed over to a person.
	Visitor bool `json:",omitempty"`
	// Approver asks a person about calls that need approval; nil without a person.
	Approver toolhandler.Approver `json:"-"`
	// Person answers servers while their tools run; nil without a person.
	Person toolhandler.Person `json:"-"`
	// Traced takes the trace of a turn that nobody asked, such as that of a test; with nil it is stored.
	Traced func(answer.Trace) `json:"-"`
	// Journal is that of a turn whose caller adds its events and ends it, as others follow it. When nil,
	// Run keeps one of its own if the turn is to be saved.
	Journal *journal.Turn `json:"-"`
	// GoesOn lets another process continue the turn if this one is lost; Note is what the caller needs
	// for that.
	GoesOn bool
	Note   json.RawMessage `json:",omitempty"`

	// Began is when Run took it: Run sets it.
	Began time.Time `json:"-"`
	// Resumed is set by [Continued].
	Resumed *Resumption `json:"-"`
}

// Place identifies a turn's conversation, and what is stored of the turn.
type Place struct {
	// ConversationID continues a conversation, or names a new one. When empty, Run
	// makes one ("chat_" and a UUID).
	ConversationID string
	// Parent is the id of the turn that this one follows: one that is not the conversation's newest
	// starts a branch. nil follows the newest, and "" restarts the conversation.
	Parent *string
	// Owner owns the conversation; empty without API keys.
	Owner string
	// Key makes saving idempotent: a second turn with the same key stores nothing.
	// The turn's id is used when it is empty.
	Key string
	// Stateless turns take their history from Messages and save nothing.
	Stateless bool
	// ReadOnly turns read their conversation and save nothing.
	ReadOnly bool
	// WholeHistory fails a turn, before any model call, if its conversation does not fit into the
	// model's context without a summary.
	WholeHistory bool
}

// ModelChoice overrides the configured provider and models; each may be empty.
type ModelChoice struct {
	Provider       string
	Model          string
	GuardrailModel string
}

// Sampling is passed to the model unchanged; zero values mean the model's defaults.
type Sampling struct {
	Temperature *float64
	TopP        *float64
	MaxTokens   int
	Stop        []string
	Seed        *int64
	Thinking    schemas.Thinking
}

var (
	// ErrInvalid means that the turn can never succeed as it is; the error names the fault.
	ErrInvalid = errors.New("invalid request")
	// ErrSchema means that the model's answer did not match the turn's schema, though it was asked
	// again.
	ErrSchema = errors.New("the model's answer does not match the schema of the request")
	// ErrToolChoice is an ErrInvalid: the tool that the turn must call is not offered.
	ErrToolChoice = fmt.Errorf("%w: tool_choice", ErrInvalid)
)

// wantsJSON reports whether the client wants a JSON value as the answer.
func (t *Turn) wantsJSON() bool { return len(t.Schema) > 0 }

// Question returns the text of the last message of role user, and false if it has none.
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
		switch text := m.Said(); {
		case text == "":
			return m, fmt.Errorf("%w: the last user message has no text", ErrInvalid)
		case !utf8.ValidString(text):
			return m, fmt.Errorf("%w: the last user message is not valid UTF-8", ErrInvalid)
		}
		return m, nil
	}
	return schemas.Message{}, fmt.Errorf("%w: there is no message of role user", ErrInvalid)
}
