package schemas

import "time"

// A LiveTurn is a turn that runs, or ran recently, on one of several replicas.
type LiveTurn struct {
	ID, Owner, Assistant, ConversationID string
	Began                                time.Time
	// Ended is set when it no longer runs; Lost, if its replica disappeared before.
	Ended, Lost bool
}

// LiveNews is an update of a turn: a sign of life, more items, or its end.
type LiveNews struct {
	TurnID, ConversationID string
	Rows                   []LiveRow
	Ended                  bool
}

// A LiveRow holds the items from First to Last, as JSON that only the package that wrote it reads.
type LiveRow struct {
	First, Last int
	Body        string
}

// LiveUpdate is the result of reading a turn: the rows after a number, and its state.
type LiveUpdate struct {
	Rows []LiveRow
	// Ended is set if the rows are the last; Lost, if the replica disappeared or the turn is
	// unknown.
	Ended, Lost bool
}

// A LiveAsk is a request that waits for a person. Body and Decision are the JSON of their author;
// Decision is the one made at another replica, empty until then.
type LiveAsk struct{ ID, TurnID, Owner, Body, Decision string }
