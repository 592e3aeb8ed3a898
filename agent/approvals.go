package agent

import "molar/toolhandler"

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

// How far a yes reaches.
const (
	Once           = toolhandler.Once
	InConversation = toolhandler.InConversation
	Always         = toolhandler.Always
)
