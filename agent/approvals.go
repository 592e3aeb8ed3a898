package agent

import (
	"molar/agent/prompts"
	"molar/internal/text"
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
	// Asked is the question about a call, in plain words.
	Asked = prompts.Asked
	// Destination is what a lasting approval covers.
	Destination = toolhandler.Destination
	// Ruling is a decision for the audit.
	Ruling = toolhandler.Ruling
	// Question is a server's question to them.
	Question = toolhandler.Question
)

// Explain returns the question about a call, in plain words in the language of its turn.
func Explain(a Ask) Asked {
	return prompts.Ask(prompts.AskInput{Language: a.Language, Tool: a.Tool, Arguments: a.Call.Function.Arguments, Reason: a.Reason})
}

// ShownArguments returns the arguments of a call for a person to read: on one line, with what cannot be
// seen or looks like another character written out.
func ShownArguments(a Ask) string { return text.ShownJSON(a.Call.Function.Arguments) }

// Granted reports whether standing approvals cover a call.
func Granted(all []schemas.Grant, a Ask) bool { return toolhandler.Granted(all, a) }

// ByApprover is the way of a decision that an approver made after the turn.
const ByApprover = toolhandler.ByApprover

// RuleUnsure is the rule of a call that was sent before the host stopped.
const RuleUnsure = toolhandler.RuleUnsure

// The scopes of an approval.
const (
	Once           = toolhandler.Once
	InConversation = toolhandler.InConversation
	Always         = toolhandler.Always
)
