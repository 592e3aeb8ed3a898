package agent

import (
	"fmt"
	"slices"

	"molar/agent/offer"
	"molar/providers"
	"molar/schemas"
)

// ServerTools limits the model's use of the servers' tools. Only Without affects the assistant's own
// search as well.
type ServerTools struct {
	// NoTools offers no tools to the model, not even the client's.
	NoTools bool
	// Narrow restricts the servers' tools; nil restricts nothing.
	Narrow *Narrowing
	// Without are tools that this turn does without, by their offered names or globs of them, 128 at most:
	// neither the model nor the assistant's search calls them. An unknown name is an [ErrWithout].
	Without []string `json:",omitempty"`
	// Also are tools, by their offered names, that this turn is offered beside those of the assistant: the
	// host's own searches that the client asked for. Those of the operator's texts are offered to an assistant
	// without a topic only, or if it searches them itself.
	Also []string
	// ListTools yields an event with the offered tools of servers.
	ListTools bool
	// MaxRounds lowers the limit of tool rounds, MaxCalls that of calls to servers; zero keeps it.
	MaxRounds int
	MaxCalls  int
}

// Client holds the client's own tools and its tool choice.
type Client struct {
	// ClientTools are tools that the client runs itself. Only Name, Description and InputSchema are
	// set. A call to one ends the turn with an event; a turn with Results continues it. One hides a
	// server's tool of the same name.
	ClientTools []schemas.ToolInfo
	// Results are the results of the client's tools, by the id of the call. The turn then continues
	// the one that ended in these calls: it is neither judged nor saved twice. If that turn is no
	// longer stored, this one starts anew, with the calls and results that follow the question in
	// Messages.
	Results []schemas.ToolResult
	// MustCall makes the first round call a tool; MustCallTool names which one.
	MustCall     bool
	MustCallTool string
	// OneCall takes only the first call of each round.
	OneCall bool
}

// Split separates the calls that servers run from those of the client.
func (c Client) Split(calls []schemas.ToolCall) (hostCalls, clientCalls []schemas.ToolCall) {
	for _, call := range calls {
		if c.runs(call) {
			clientCalls = append(clientCalls, call)
			continue
		}
		hostCalls = append(hostCalls, call)
	}
	return hostCalls, clientCalls
}

// runs reports whether the client runs a call itself.
func (c Client) runs(call schemas.ToolCall) bool { return offer.Has(c.ClientTools, call.Function.Name) }

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

// Force makes a request call a tool, if the client asks for it. It applies to the first round only,
// as otherwise the turn would never end. A named tool is the only one offered, which every provider
// understands.
func (c Client) Force(req *providers.Request) {
	if !c.MustCall {
		return
	}
	req.ToolChoice = providers.ToolRequired
	if c.MustCallTool != "" {
		req.Tools = slices.DeleteFunc(slices.Clone(req.Tools), func(info schemas.ToolInfo) bool { return info.Name != c.MustCallTool })
	}
}
