package schemas

import "time"

// An Opening is a conversation's state at the beginning of a turn.
type Opening struct {
	ConversationID string `json:"conversation_id"`
	// Known is false for a conversation that does not exist yet.
	Known bool `json:"known"`
	// Assistant is the one asked in the last turn of the branch, Tip is that turn, and Subject is
	// the last self-contained question, as of that turn.
	Assistant string `json:"assistant,omitempty"`
	Tip       string `json:"tip,omitempty"`
	Subject   string `json:"subject,omitempty"`
	// Compaction is the one at the start of that turn's prompt.
	Compaction Compaction `json:"compaction,omitzero"`
	// Pieces are the existing summaries of exchanges in Messages.
	Pieces []Piece `json:"pieces,omitempty"`
	// Messages are the branch's messages after the compaction, oldest first.
	Messages []StoredMessage `json:"messages"`
	// Partial is set if older ones were omitted, or texts cut, because together they were too
	// long.
	Partial bool `json:"partial,omitempty"`
	// ServersRead are the MCP servers whose results the conversation contains.
	ServersRead []string `json:"servers_read"`
	// Lease is zero if Finished is set: there is nothing left to write.
	Lease Lease `json:"lease"`
	// Finished is the turn already saved under the key.
	Finished *Finished `json:"finished,omitempty"`
	// Summary is the summary of the branch, Covers the Seq of its last message.
	Summary string `json:"summary"`
	Covers  int64  `json:"covers"`
}

// A Compaction is a text that replaces a branch up to a message in prompts.
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
	// Condensed, if set, replaces the whole branch up to this exchange.
	Condensed string `json:"condensed,omitempty"`
}

// Finished is a saved turn, as a repeated request gets it.
type Finished struct {
	TurnID  string    `json:"turn_id"`
	Answer  string    `json:"answer"`
	Sources []Source  `json:"sources"`
	Status  string    `json:"status,omitempty"`
	SavedAt time.Time `json:"saved_at"`
}

// A StoredTurn is the stored part of one turn, complete or not.
type StoredTurn struct {
	TurnID         string `json:"turn_id"`
	ConversationID string `json:"conversation_id"`
	Assistant      string `json:"assistant,omitempty"`
	// Status is the answer's: empty if it is complete, else StatusRunning, while its process has
	// the lease, or StatusInterrupted.
	Status   string    `json:"status,omitempty"`
	Question string    `json:"question"`
	Answer   string    `json:"answer"`
	Sources  []Source  `json:"sources,omitempty"`
	BeganAt  time.Time `json:"began_at"`
	// SavedAt is zero for an unfinished turn.
	SavedAt time.Time `json:"saved_at,omitzero"`
}

// SummaryWork is a branch of a conversation whose last answers are not summarised yet.
type SummaryWork struct {
	Owner          string `json:"owner"`
	ConversationID string `json:"conversation_id"`
	// Summary is the branch's summary up to the message with the Seq Covers.
	Summary  string `json:"summary"`
	Covers   int64  `json:"covers"`
	Language string `json:"language"`
	// Untitled is set while the first question serves as title.
	Untitled bool `json:"untitled,omitempty"`
	// TitleOnly is set if the conversation only needs a title: its summaries can wait.
	TitleOnly bool `json:"title_only,omitempty"`
	// Messages are those after Covers up to the last complete answer, without interrupted turns.
	Messages []StoredMessage `json:"messages"`
}
