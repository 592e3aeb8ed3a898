package schemas

import (
	"errors"
	"time"
)

// A Handover is a person's request to reach somebody at the desk, from a conversation with an assistant.
type Handover struct {
	ID             string `json:"id"`
	Owner          string `json:"-"`
	ConversationID string `json:"conversation_id"`
	Assistant      string `json:"assistant"`
	Language       string `json:"language"`
	// Reason is why it was offered.
	Reason HandoverReason `json:"reason"`
	// Contact is what the person wrote into the form, by the names of handover.ask.
	Contact map[string]string `json:"contact,omitempty"`
	// State is how far it came.
	State HandoverState `json:"state"`
	// Callback is set for a request outside the hours of the desk: the assistant goes on answering until
	// the desk writes.
	Callback bool `json:"callback,omitempty"`
	// Event is the id of the webhook's event that carries the request.
	Event     string    `json:"-"`
	CreatedAt time.Time `json:"created_at"`
	ChangedAt time.Time `json:"changed_at"`
}

// HandoverReason is why a hand-over was offered.
type HandoverReason string

// The reasons of a hand-over.
const (
	// HandoverButton: the person pressed the button.
	HandoverButton HandoverReason = "button"
	// HandoverWords: the person asked for somebody in plain words.
	HandoverWords HandoverReason = "words"
	// HandoverNotFound: two turns in a row found nothing.
	HandoverNotFound HandoverReason = "not_found"
)

// HandoverState is how far a hand-over came.
type HandoverState string

// The states of a hand-over, in their order. It ends as closed from any of them.
const (
	// HandoverSending: the request is stored, and the desk has not confirmed it.
	HandoverSending HandoverState = "sending"
	// HandoverDelivered: the desk's inbox has confirmed it. Nobody need have read it.
	HandoverDelivered HandoverState = "delivered"
	// HandoverFailed: the inbox did not take it for an hour. Nobody was reached.
	HandoverFailed HandoverState = "failed"
	// HandoverAnswered: the desk has written to the person.
	HandoverAnswered HandoverState = "answered"
	// HandoverClosed: the desk or the person has ended it, or nothing happened for too long.
	HandoverClosed HandoverState = "closed"
)

// Silences reports whether no model answers in the conversation meanwhile: somebody at the desk may
// still answer, and the person waits for that.
func (h Handover) Silences() bool {
	switch h.State {
	case HandoverSending, HandoverDelivered:
		return !h.Callback
	case HandoverAnswered:
		return true
	}
	return false
}

// Desk is the author of answers that people at the desk wrote, in place of an assistant's name. No assistant can
// have it as its name.
const Desk = "@desk"

// HandoverStates returns the states of a hand-over that is not closed.
func HandoverStates() []HandoverState {
	return []HandoverState{HandoverSending, HandoverDelivered, HandoverFailed, HandoverAnswered}
}

// A HandoverStatus is what a person is told about reaching somebody. All that it says is true now.
type HandoverStatus struct {
	// On is set if somebody can be reached at all, Open if somebody is at the desk now; else Next is when
	// the desk opens.
	On   bool      `json:"on"`
	Open bool      `json:"open"`
	Next time.Time `json:"next,omitzero"`
	// Ask names the fields of the form.
	Ask []string `json:"ask,omitempty"`
	// State is that of the newest hand-over of the conversation, "" without one, and Callback its own.
	State    HandoverState `json:"state"`
	Callback bool          `json:"callback,omitempty"`
	// Text says it in the person's language; "" without a hand-over. Fallback is what the operator tells
	// them to do if nobody could be reached.
	Text     string `json:"text"`
	Fallback string `json:"fallback,omitempty"`
}

// The authors of a [DeskMessage].
const (
	ByVisitor   = "visitor"
	ByAssistant = "assistant"
	ByDesk      = "desk"
)

// A DeskMessage is a message of a conversation as the desk reads it.
type DeskMessage struct {
	// Seq numbers the messages of a conversation in their order, with gaps.
	Seq int64 `json:"seq,omitempty"`
	// TurnID is that of the event which passed it on to the desk.
	TurnID string    `json:"turn_id,omitempty"`
	By     string    `json:"by"`
	Text   string    `json:"text"`
	At     time.Time `json:"at"`
}

// A ContactError names the field of a hand-over's form that cannot be used.
type ContactError string

func (e ContactError) Error() string { return "what was written as " + string(e) + " cannot be used" }

// Who closed a hand-over, as the event handover.closed says.
const (
	ClosedByPerson = "person"
	ClosedByDesk   = "desk"
	ClosedByTime   = "time"
)

// The errors of a message of the desk.
var (
	// ErrHandoverClosed: the hand-over has ended, and the person talks with the assistant again.
	ErrHandoverClosed = errors.New("the hand-over is closed")
	// ErrOtherMessage: the key of the message was used for another text.
	ErrOtherMessage = errors.New("another message was written with this key")
)
