package agent

import "molar/toolhandler"

// Aliases for callers that import only this package.
type (
	// Approver asks a person about a call.
	Approver = toolhandler.Approver
	// Scope is how far an approval reaches.
	Scope = toolhandler.Scope
	// Ask is the call to approve.
	Ask = toolhandler.Approval
	// Decision is the person's answer.
	Decision = toolhandler.Decision
	// Person can be reached by servers while their tools run.
	Person = toolhandler.Person
	// Question is a server's question to them.
	Question = toolhandler.Question
)

// The scopes of an approval.
const (
	Once           = toolhandler.Once
	InConversation = toolhandler.InConversation
	Always         = toolhandler.Always
)
