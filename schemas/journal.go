package schemas

import (
	"encoding/json"
	"time"
)

// A JournalTurn is a turn that runs, or ran recently, in one of the processes that share a database.
type JournalTurn struct {
	ID, Owner, Assistant, ConversationID string
	// Shared keeps what the turn said for followers in any process, for a while after its end too.
	Shared bool
	// GoesOn lets another process continue the turn if its own is gone. Attempt counts the processes
	// that have run it, from 1.
	GoesOn  bool
	Attempt int
	// State is the question with what else is needed to save or continue the turn, as JSON of its
	// author; empty until the question has passed the guardrail.
	State json.RawMessage
	Began time.Time
	// Since is when its process took the turn: one of an owner who was erased since is not recorded. Zero
	// means now. It is not read back.
	Since time.Time
	// Ended is set when it no longer runs; Lost, if its process disappeared before.
	Ended, Lost bool
}

// JournalNews is what a turn adds to its journal: items, what the model said in rounds with calls,
// or its end.
type JournalNews struct {
	TurnID, ConversationID string
	Rows                   []JournalRow
	Rounds                 []JournalRound
	Ended                  bool
}

// A JournalRow holds the items from First to Last, as JSON that only the package that wrote it reads.
type JournalRow struct {
	First, Last int
	Body        string
}

// A JournalRound is what the model said in a round with calls, or that a call of it was sent. They are
// numbered from 1; Body is the JSON of their author.
type JournalRound struct {
	N    int
	Body string
}

// A JournalRecord is the whole journal of a turn.
type JournalRecord struct {
	JournalTurn
	Rows   []JournalRow
	Rounds []JournalRound
}

// A JournalUpdate is the result of reading a turn: the rows after a number, and its state.
type JournalUpdate struct {
	Rows []JournalRow
	// Ended is set if the rows are the last; Lost, if the process disappeared or the turn is
	// unknown.
	Ended, Lost bool
}

// A LiveAsk is a request that waits for a person. Body and Decision are the JSON of their author;
// Decision is the one made at another replica, empty until then.
type LiveAsk struct{ ID, TurnID, Owner, Body, Decision string }
