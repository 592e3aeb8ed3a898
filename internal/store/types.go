package store

import (
	"errors"
	"time"

	"molar/schemas"
)

// The refusals that are the caller's to handle. They come wrapped; ask with
// errors.Is.
var (
	// ErrNotFound means that no such conversation exists for this owner.
	ErrNotFound = errors.New("conversation not found")
	// ErrStaleLease means that a later turn took the conversation over, or that it
	// was cleared or deleted since the turn began.
	ErrStaleLease = errors.New("the lease is no longer valid: a later turn began, or the conversation was cleared or deleted")
	// ErrConflict means that what is to be written contradicts what is stored.
	ErrConflict = errors.New("conflict with what is stored")
	// ErrInvalid means that what was asked makes no sense.
	ErrInvalid = errors.New("invalid request")
)

// TurnRequest asks for the right to write one turn.
type TurnRequest struct {
	Owner string
	// ConversationID need not exist yet; beginning a turn does not create it.
	ConversationID string
	// AnyConversation lets Key find a finished turn in every conversation of the
	// owner: the caller was given no id and made one up.
	AnyConversation bool
	// Key is the client's idempotency key; empty when it gave none.
	Key string
	// TTL is how long the lease is announced to hold.
	TTL time.Duration
}

// TurnStart is what a turn needs to know of its conversation.
type TurnStart struct {
	ConversationID string `json:"conversation_id"`
	// Known is false for a conversation that does not exist yet.
	Known   bool   `json:"known"`
	Summary string `json:"summary"`
	// Covers is the seq of the last message that the summary covers.
	Covers int64 `json:"covers"`
	// Messages are those that the summary does not cover, oldest first.
	Messages []schemas.StoredMessage `json:"messages"`
	// Recent is the last exchange when the summary covers it already, so that a
	// follow-up can be understood; else it is among Messages.
	Recent []schemas.StoredMessage `json:"recent,omitempty"`
	// ServersRead are the MCP servers whose results the conversation has seen.
	ServersRead []string `json:"servers_read"`
	// Lease is zero when Finished is set: there is nothing left to write.
	Lease schemas.Lease `json:"lease"`
	// Finished is the turn that was already saved under the key.
	Finished *FinishedTurn `json:"finished,omitempty"`
}

// FinishedTurn is a saved turn, as a repeated request gets it again.
type FinishedTurn struct {
	TurnID  string           `json:"turn_id"`
	Answer  string           `json:"answer"`
	Sources []schemas.Source `json:"sources"`
	Status  string           `json:"status,omitempty"`
	SavedAt time.Time        `json:"saved_at"`
}

// Turn is one user message with its answer, to be saved as a whole.
type Turn struct {
	Lease  schemas.Lease
	TurnID string
	// Key is the client's idempotency key, unique in its conversation; may be empty.
	Key     string
	User    string
	Answer  string
	Sources []schemas.Source
	// Calls is JSON: the executed calls of the turn.
	Calls []byte
	// Status is empty or schemas.StatusInterrupted.
	Status string
	// ServersRead is added to what the conversation has read before.
	ServersRead []string
	// Language is the language of the turn, such as "vi"; empty keeps the last one.
	Language string
}

// SavedTurn says when a turn was saved, and under which id.
type SavedTurn struct {
	TurnID  string    `json:"turn_id"`
	SavedAt time.Time `json:"saved_at"`
}

// Message is what was said, without what is kept beside it.
type Message struct {
	Role    schemas.Role `json:"role"`
	Content string       `json:"content"`
}

// MessageRange picks messages of a conversation by their age. The zero value
// picks all.
type MessageRange struct {
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

// SummaryWork is a conversation whose last answers await their summary.
type SummaryWork struct {
	Owner          string `json:"owner"`
	ConversationID string `json:"conversation_id"`
	Summary        string `json:"summary"`
	Covers         int64  `json:"covers"`
	Language       string `json:"language"`
	// Messages are the uncovered ones up to the last complete answer, without
	// interrupted turns. The Seq of the last one is what a new summary covers.
	Messages []schemas.StoredMessage `json:"messages"`
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
