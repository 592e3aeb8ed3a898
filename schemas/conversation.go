package schemas

import (
	"encoding/json"
	"slices"
	"time"
)

// A Conversation is an entry of a conversation list.
type Conversation struct {
	ID string `json:"id"`
	// Title is the person's title, else the model's, else the start of the first question.
	Title     string    `json:"title"`
	Messages  int       `json:"messages"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
	// Assistant is the last one asked; empty if unknown.
	Assistant string `json:"assistant,omitempty"`
	// Running is set while a turn is under way.
	Running bool `json:"running,omitempty"`
	// Snippet is the part of a message that a search found, if any.
	Snippet string `json:"snippet,omitempty"`
}

// A StoredMessage is a message as the memory stores it.
type StoredMessage struct {
	// Seq counts the messages of a conversation from 1.
	Seq       int64     `json:"seq,omitempty"`
	Role      Role      `json:"role"`
	Content   string    `json:"content"`
	Timestamp time.Time `json:"timestamp"`
	// TurnID is empty for messages that were added outside a turn.
	TurnID string `json:"turn_id,omitempty"`
	// ParentTurn is the turn before, set on the question of a turn. Turns that share it are
	// branches of the conversation.
	ParentTurn string `json:"parent_turn,omitempty"`
	// Assistant is the author of this answer.
	Assistant string `json:"assistant,omitempty"`
	// Status is the answer's: empty if it is complete, else one of the constants below.
	Status  string   `json:"status,omitempty"`
	Sources []Source `json:"sources,omitempty"`
	// Calls are the rounds of a turn that called tools, a JSON list of [Round].
	Calls json.RawMessage `json:"calls,omitempty"`
	// Files are the files of a question, if they were loaded.
	Files []File `json:"files,omitempty"`
	// Parent is the Seq of the message before this one on its branch. It is set in whole trees
	// only.
	Parent int64 `json:"parent,omitempty"`
}

// Rounds returns the rounds of the answer's turn; nil if they are stored in another form.
func (m StoredMessage) Rounds() []Round {
	if len(m.Calls) == 0 {
		return nil
	}
	var rounds []Round
	if json.Unmarshal(m.Calls, &rounds) != nil {
		return nil
	}
	return rounds
}

// The status of an answer.
const (
	// StatusRunning marks an answer that is being written: its content is the text so far.
	StatusRunning = "running"
	// StatusInterrupted marks an answer that was cut short; it is never summarised.
	StatusInterrupted = "interrupted"
)

// A Lease is the right to write one turn to a conversation. It excludes others until it ends or
// expires. A later lease has a higher fence.
type Lease struct {
	ConversationID string    `json:"conversation_id"`
	Token          string    `json:"token"`
	Fence          int64     `json:"fence"`
	Expires        time.Time `json:"expires"`
}

// A Round is one stored answer of the model within a turn: its text and calls, with the
// provider's private state on each part, and the results of the calls, in order. The last round
// of a turn has no results.
type Round struct {
	Said    Message      `json:"said"`
	Results []ToolResult `json:"results,omitempty"`
	// TookMS are the durations of the calls in milliseconds, in the order of Results; empty if they are
	// not known.
	TookMS []int64 `json:"took_ms,omitempty"`
	// Passages are the texts that code put before the question: what it looked up for it in the
	// operator's own texts. Only the first round has them; one of a turn without calls has nothing
	// else.
	Passages []string `json:"passages,omitempty"`
	// Read are the origins of the texts that the prompt of the turn held, and Question those of the
	// question itself; the model's texts have the origins of Read. Traced is set if they were recorded.
	// Only the first round has them.
	Traced   bool     `json:"traced,omitempty"`
	Read     []Origin `json:"read,omitempty"`
	Question []Origin `json:"question,omitempty"`
	// Unanswered is why the turn has no answer, if it has none; only the first round has it.
	Unanswered Unanswered `json:"unanswered,omitempty"`
}

// NewRound returns a round with the results of its calls and their durations.
func NewRound(said Message, results []ToolResult) Round {
	r := Round{Said: said, Results: results}
	if slices.ContainsFunc(results, func(one ToolResult) bool { return one.Duration > 0 }) {
		for _, one := range results {
			r.TookMS = append(r.TookMS, one.TookMS())
		}
	}
	return r
}

// Unanswered is why a question has no answer.
type Unanswered string

// The reasons.
const (
	// UnansweredUnreachable: no model could be reached.
	UnansweredUnreachable Unanswered = "unreachable"
	// UnansweredTooLong: the question did not fit into the model's window.
	UnansweredTooLong Unanswered = "too_long"
	// UnansweredStopped: a person stopped the turn, or the client left.
	UnansweredStopped Unanswered = "stopped"
	// UnansweredDesk: people at the desk were to answer, as the conversation was handed over to them.
	UnansweredDesk Unanswered = "desk"
	// UnansweredFailed: any other failure.
	UnansweredFailed Unanswered = "failed"
)
