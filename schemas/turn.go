package schemas

import "time"

// An Opening is what a turn is told of its conversation when it begins.
type Opening struct {
	ConversationID string `json:"conversation_id"`
	// Known is false for a conversation that does not exist yet.
	Known bool `json:"known"`
	// Assistant is who was asked in the last turn of the branch, Tip is that turn, and
	// Subject is the last question that stands alone, after it.
	Assistant string `json:"assistant,omitempty"`
	Tip       string `json:"tip,omitempty"`
	Subject   string `json:"subject,omitempty"`
	// Compaction is the one that the prompt of that turn began with.
	Compaction Compaction `json:"compaction,omitzero"`
	// Pieces are the summaries of exchanges among Messages that have one.
	Pieces []Piece `json:"pieces,omitempty"`
	// Messages are those of the branch that the compaction does not cover, oldest first.
	Messages []StoredMessage `json:"messages"`
	// Partial says that older ones were left out, or texts cut, as they were too long
	// together.
	Partial bool `json:"partial,omitempty"`
	// ServersRead are the MCP servers whose results the conversation has seen.
	ServersRead []string `json:"servers_read"`
	// Lease is zero when Finished is set: there is nothing left to write.
	Lease Lease `json:"lease"`
	// Finished is the turn that was already saved under the key.
	Finished *Finished `json:"finished,omitempty"`
	// Summary is the summary of the branch, Covers the Seq of the last message that it covers.
	Summary string `json:"summary"`
	Covers  int64  `json:"covers"`
}

// A Compaction is a text that stands in prompts for all of a branch up to a message.
type Compaction struct {
	// Covers is the Seq of that message.
	Covers int64  `json:"covers"`
	Text   string `json:"text"`
}

// A Piece is the summary of one exchange.
type Piece struct {
	// Seq is that of the answer.
	Seq  int64  `json:"seq"`
	Text string `json:"text,omitempty"`
	// Condensed, if there is one, stands for the whole branch up to this exchange.
	Condensed string `json:"condensed,omitempty"`
}

// Finished is a saved turn, as a repeated request gets it again.
type Finished struct {
	TurnID  string    `json:"turn_id"`
	Answer  string    `json:"answer"`
	Sources []Source  `json:"sources"`
	Status  string    `json:"status,omitempty"`
	SavedAt time.Time `json:"saved_at"`
}

// A StoredTurn is what is stored of one turn, whole or not.
type StoredTurn struct {
	TurnID         string `json:"turn_id"`
	ConversationID string `json:"conversation_id"`
	Assistant      string `json:"assistant,omitempty"`
	// Status is that of the answer: empty when it is whole, else StatusRunning, while its
	// process has the lease, or StatusInterrupted.
	Status   string    `json:"status,omitempty"`
	Question string    `json:"question"`
	Answer   string    `json:"answer"`
	Sources  []Source  `json:"sources,omitempty"`
	BeganAt  time.Time `json:"began_at"`
	// SavedAt is zero for a turn that did not come to its end.
	SavedAt time.Time `json:"saved_at,omitzero"`
}

// Begun is a turn whose question is recorded before it is answered.
type Begun struct {
	Lease Lease `json:"lease"`
	// Owner is whose conversation it is, so that only its watchers hear of the change.
	Owner  string `json:"owner,omitempty"`
	TurnID string `json:"turn_id"`
	// Key is the client's idempotency key; may be empty.
	Key       string `json:"key,omitempty"`
	User      string `json:"user"`
	Assistant string `json:"assistant,omitempty"`
	// Language is the language of the turn, such as "vi"; empty keeps the last one.
	Language string `json:"language,omitempty"`
}

// SummaryWork is a branch of a conversation whose last answers await their summary.
type SummaryWork struct {
	Owner          string `json:"owner"`
	ConversationID string `json:"conversation_id"`
	// Summary is that of the branch up to the message with the Seq Covers.
	Summary  string `json:"summary"`
	Covers   int64  `json:"covers"`
	Language string `json:"language"`
	// Untitled says that the first question still stands for a title.
	Untitled bool `json:"untitled,omitempty"`
	// Messages are the uncovered ones up to the last complete answer, without
	// interrupted turns.
	Messages []StoredMessage `json:"messages"`
}
