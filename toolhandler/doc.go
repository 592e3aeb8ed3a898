// Package toolhandler is the ToolInteractionHandler: it takes the tool calls that a
// model suggests, checks them, asks for approval where the policy says so, executes
// them through a [Caller], and turns every failure into a result that the model can
// act on, paired with its call.
//
// It owns the budget and the record of the servers read in one turn. Lint lists what the
// rules of providers change in the schemas of tools. It does not know MCP, models or
// events; it imports schemas only.
package toolhandler
