package schemas

import "time"

// A LiveTurn is a turn that runs on one of several replicas, or did a short time ago.
type LiveTurn struct {
	ID, Owner, Assistant, ConversationID string
	Began                                time.Time
	// Ended says that it runs no more; Lost, that its replica fell silent before.
	Ended, Lost bool
}

// LiveNews is what a turn has to tell: nothing but that it runs, more items, or its end.
type LiveNews struct {
	TurnID, ConversationID string
	Rows                   []LiveRow
	Ended                  bool
}

// A LiveRow holds the items from First to Last, as JSON of their teller.
type LiveRow struct {
	First, Last int
	Body        string
}

// LiveTold is what was read of a turn.
type LiveTold struct {
	Rows []LiveRow
	// Ended says that the rows are the last; Lost, that its replica fell silent, or that
	// nothing is known of the turn any more.
	Ended, Lost bool
}

// A LiveAsk is what waits for a person. Body and Decision are JSON of their teller; Decision
// is what another replica was told, empty while nobody decided there.
type LiveAsk struct{ ID, TurnID, Owner, Body, Decision string }
