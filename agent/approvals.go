package agent

import (
	"molar/schemas"
	"molar/toolhandler"
)

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
	// Argument says what an argument of a tool is for.
	Argument = toolhandler.Argument
	// Destination is what a lasting approval covers.
	Destination = toolhandler.Destination
	// Question is a server's question to them.
	Question = toolhandler.Question
)

// Granted reports whether standing approvals cover a call.
func Granted(all []schemas.Grant, a Ask) bool { return toolhandler.Granted(all, a) }

// RuleUnsure is the rule of a call that was sent before the host stopped.
const RuleUnsure = toolhandler.RuleUnsure

// The scopes of an approval.
const (
	Once           = toolhandler.Once
	InConversation = toolhandler.InConversation
	Always         = toolhandler.Always
)
