package agent

import "molar/agent/event"

// What a turn yields. Package event tells of each.
type (
	// Event is something that happened in a turn.
	Event = event.Event
	// EventKind says what an event reports.
	EventKind = event.Kind
	// Start is known as soon as the turn is accepted.
	Start = event.Start
	// Approval is a call that waits for a person's decision.
	Approval = event.Approval
	// Asked is a question of a server that waits for a person's answer.
	Asked = event.Asked
	// Done sums a turn up.
	Done = event.Done
	// Collector gathers the events of one turn.
	Collector = event.Collector
)

// The kinds of event, in the order in which a turn may yield them.
const (
	EventStart       = event.KindStart
	EventStep        = event.KindStep
	EventText        = event.KindText
	EventCommentary  = event.KindCommentary
	EventThinking    = event.KindThinking
	EventTools       = event.KindTools
	EventToolCall    = event.KindToolCall
	EventToolResult  = event.KindToolResult
	EventApproval    = event.KindApproval
	EventQuestion    = event.KindQuestion
	EventProgress    = event.KindProgress
	EventLog         = event.KindLog
	EventClientCalls = event.KindClientCalls
	EventSources     = event.KindSources
	EventWarning     = event.KindWarning
	EventDone        = event.KindDone
)
