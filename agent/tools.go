package agent

import (
	"fmt"
	"slices"

	"molar/providers"
	"molar/schemas"
)

// ServerTools narrows what the model may do with the tools of servers. The assistant's own
// search runs whatever it says.
type ServerTools struct {
	// NoTools offers no tool to the model, also none of the client's.
	NoTools bool
	// Narrow makes the servers' tools fewer or stricter: it returns a tool as it may be
	// called in this turn, and false for one that may not. It can widen nothing: a tool
	// that is withheld without it stays so. nil leaves all as they are.
	Narrow func(schemas.Tool) (schemas.Tool, bool)
	// ListTools yields the servers' tools that are offered, as an event of their own.
	ListTools bool
	// MaxRounds lowers the limit of tool rounds, MaxCalls that of the calls that servers
	// run; zero keeps it.
	MaxRounds int
	MaxCalls  int
}

// Client is what the client says of tools.
type Client struct {
	// ClientTools are tools that the client runs by itself. Only Name, Description and
	// InputSchema are set. A call to one ends the turn with an event; a
	// turn with Results continues it. One that has the name of a server's tool hides
	// that.
	ClientTools []schemas.ToolInfo
	// Results are what the client's tools gave, by the id of the call. The turn then
	// continues the one that ended in these calls: it is neither judged nor saved
	// twice. When that turn is no longer kept, this one begins anew, with the calls
	// and results as Messages holds them after the question.
	Results []schemas.ToolResult
	// MustCall makes the first round call a tool; MustCallTool names which one.
	MustCall     bool
	MustCallTool string
	// OneCall takes only the first call of each round.
	OneCall bool
}

// Split separates the calls that servers run from those of the client.
func (c Client) Split(calls []schemas.ToolCall) (ours, theirs []schemas.ToolCall) {
	for _, call := range calls {
		if slices.ContainsFunc(c.ClientTools, func(t schemas.ToolInfo) bool { return t.Name == call.Function.Name }) {
			theirs = append(theirs, call)
			continue
		}
		ours = append(ours, call)
	}
	return ours, theirs
}

// CheckForced refuses a turn that must call a tool which is not offered.
func (c Client) CheckForced(offered []schemas.ToolInfo) error {
	if !c.MustCall {
		return nil
	}
	named := func(info schemas.ToolInfo) bool { return info.Name == c.MustCallTool }
	switch {
	case len(offered) == 0:
		return fmt.Errorf("%w: a call is asked for, and no tool is offered", ErrToolChoice)
	case c.MustCallTool != "" && !slices.ContainsFunc(offered, named):
		return fmt.Errorf("%w: %q is not offered in this turn", ErrToolChoice, c.MustCallTool)
	}
	return nil
}

// Force makes a request call a tool, when the client asks for that. It is asked of
// the first round only: in every round the turn would never end. Where one tool is
// named, it is the only one offered, which every provider understands.
func (c Client) Force(req *providers.Request) {
	if !c.MustCall {
		return
	}
	req.ToolChoice = providers.ToolRequired
	if c.MustCallTool != "" {
		req.Tools = slices.DeleteFunc(slices.Clone(req.Tools), func(info schemas.ToolInfo) bool { return info.Name != c.MustCallTool })
	}
}
