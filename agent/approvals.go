package agent

import (
	"molar/agent/event"
	"molar/toolhandler"
)

// What a turn asks a person, in the words of those who know the agent only.
type (
	// Approver asks a person about a call.
	Approver = toolhandler.Approver
	// Scope is how far a yes reaches.
	Scope = toolhandler.Scope
	// Ask is what it asks.
	Ask = toolhandler.Approval
	// Decision is the person's answer.
	Decision = toolhandler.Decision
	// Person can be reached by servers while their tools run.
	Person = toolhandler.Person
	// Question is what a server wants to know from them.
	Question = toolhandler.Question
)

// What a turn yields. Package event tells of each.
type (
	// Event is something that happened in a turn.
	Event = event.Event
	// EventKind is what an event reports.
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

// How far a yes reaches.
const (
	Once           = toolhandler.Once
	InConversation = toolhandler.InConversation
	Always         = toolhandler.Always
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

// CodeServerMissing is the code of a warning that the tools of a server are not there.
const CodeServerMissing = event.CodeServerMissing
