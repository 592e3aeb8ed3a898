package store

import (
	"encoding/json"
	"time"

	"molar/internal/store/database"
	"molar/schemas"
)

// Refusals for the caller to handle. They are wrapped; compare with errors.Is.
const (
	// ErrNotFound means that no such conversation exists for this owner.
	ErrNotFound = database.RefusalError("conversation not found")
	// ErrStaleLease means that a later turn took the conversation over, or that it was cleared
	// or deleted since the turn began.
	ErrStaleLease = database.RefusalError("the lease is no longer valid: a later turn began, or the conversation was cleared or deleted")
	// ErrBusy means that another turn of the conversation is running; it is a [*BusyError].
	ErrBusy = database.RefusalError("another turn of the conversation is running")
	// ErrNoTurn means that the conversation has no such turn.
	ErrNoTurn = database.RefusalError("there is no such turn in this conversation")
	// ErrConflict means that a write contradicts the stored data.
	ErrConflict = database.ErrConflict
	// ErrInvalid means that the request makes no sense.
	ErrInvalid = database.ErrInvalid
)

// BusyError is an [ErrBusy] with the time until the other turn's lease ends, unless it is
// renewed.
type BusyError struct{ Left time.Duration }

// Error implements error.
func (e *BusyError) Error() string { return ErrBusy.Error() }

// Unwrap makes it an ErrBusy.
func (e *BusyError) Unwrap() error { return ErrBusy }

// TurnRequest requests the right to write one turn.
type TurnRequest struct {
	Owner string
	// ConversationID need not exist yet; beginning a turn does not create it.
	ConversationID string
	// AnyConversation lets Key find a turn in every conversation of the owner: the caller got
	// no id and made one up.
	AnyConversation bool
	// Key is the client's idempotency key; empty when it gave none.
	Key string
	// Parent is the turn to continue; an empty one begins a new branch at the root, and nil
	// continues the newest branch.
	Parent *string
	// Began is when the turn began: one of an owner who was erased since gets no lease, as if another turn
	// had taken it. Zero means now.
	Began time.Time
	// TTL is how long the lease holds.
	TTL time.Duration
	// Most is approximately how many bytes of messages are read, the newest; 0 reads all.
	Most int
}

// Turn is one user message with its answer, to be saved as a whole.
type Turn struct {
	Lease  schemas.Lease `json:"lease"`
	TurnID string        `json:"turn_id"`
	// Key is the client's idempotency key, unique in its conversation; may be empty.
	Key  string `json:"key"`
	User string `json:"user"`
	// BeganAt is when the question was asked; zero means when the turn is saved.
	BeganAt time.Time        `json:"began_at,omitzero"`
	Answer  string           `json:"answer"`
	Sources []schemas.Source `json:"sources"`
	// Calls are the executed calls of the turn, as JSON.
	Calls json.RawMessage `json:"calls"`
	// Status is empty or schemas.StatusInterrupted.
	Status string `json:"status"`
	// ServersRead is added to the servers that the conversation has read before.
	ServersRead []string `json:"servers_read"`
	// Later is set if the summary of the answer can wait until one of the conversation is due.
	Later bool `json:"later"`
	// Language is the language of the turn, such as "vi"; empty keeps the last one.
	Language  string `json:"language"`
	Assistant string `json:"assistant"`
	// Subject is the conversation's last self-contained question, after this turn; empty keeps
	// that of the turn before.
	Subject string `json:"subject"`
	// Compaction is the one that the turn's prompt began with; nil means that of the turn
	// before.
	Compaction *schemas.Compaction `json:"compaction"`
}

// SavedTurn is the time at which a turn was saved, and its id.
type SavedTurn struct {
	TurnID  string    `json:"turn_id"`
	SavedAt time.Time `json:"saved_at"`
}

// Message is a message without its metadata.
type Message struct {
	Role    schemas.Role `json:"role"`
	Content string       `json:"content"`
}

// A Branch selects the messages of one branch of a conversation. The zero value is the newest
// one.
type Branch struct {
	// Tip is the last turn of another branch.
	Tip string
	// Tree selects the messages of all branches.
	Tree bool
}

// MessageRange selects messages of a conversation by their age. The zero value selects all of
// the newest branch.
type MessageRange struct {
	Branch
	// Last keeps that many of the newest messages; 0 keeps all.
	Last int
	// SkipLast leaves out that many of the newest messages.
	SkipLast int
	// Uncovered leaves out what the summary covers.
	Uncovered bool
}

// Summary is the one summary text of a conversation.
type Summary struct {
	Text string
	// UpdatedAt is zero when there was never a summary.
	UpdatedAt time.Time
	// Covers is the seq of the last message that the text covers.
	Covers int64
}

// ListRequest asks for a page of conversations, newest change first.
type ListRequest struct {
	Owner string
	// Query keeps conversations whose title or text contains it; case is ignored
	// for ASCII letters only.
	Query string
	// Limit is the page size, from 1 to 1000.
	Limit int
	// After is the Next of the page before; empty for the first.
	After string
}

// ConversationPage is one page of a list. Next is empty on the last page.
type ConversationPage struct {
	Conversations []schemas.Conversation `json:"conversations"`
	Next          string                 `json:"next"`
}
