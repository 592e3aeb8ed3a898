package agent

import (
	"slices"

	"molar/schemas"
)

// A Narrowing restricts the servers' tools that a turn may call. It cannot allow a withheld tool. The
// zero value restricts nothing.
type Narrowing struct {
	// Without are the host's own searches that are left out, by their offered names; Asked are those
	// that are offered beside Servers, by their own names.
	Without []string `json:"without,omitempty"`
	Asked   []string `json:"asked,omitempty"`
	// Servers are those whose tools are offered; empty allows all.
	Servers map[string]ServerFilter `json:"servers,omitempty"`
	// Only are the tools that are offered; nil allows all.
	Only []ToolName `json:"only"`
}

// A ServerFilter selects the allowed tools of one server, and those of them that need approval.
type ServerFilter struct {
	Allowed ToolFilter `json:"allowed"`
	Asking  ToolFilter `json:"asking"`
}

// A ToolFilter selects tools of a server. The zero filter selects none.
type ToolFilter struct {
	All      bool     `json:"all,omitempty"`
	Names    []string `json:"names,omitempty"`
	ReadOnly bool     `json:"read_only,omitempty"`
}

// Has reports whether the filter selects the tool.
func (f ToolFilter) Has(t schemas.Tool) bool {
	if f.ReadOnly && !t.Rules.ReadOnly && (t.Annotations.ReadOnlyHint == nil || !*t.Annotations.ReadOnlyHint) {
		return false
	}
	return f.All || slices.Contains(f.Names, t.ToolName) || slices.Contains(f.Names, t.Name)
}

// A ToolName names a tool by its offered name or, with a Server, the tool of that server; an empty name
// then means all of them.
type ToolName struct {
	Server string `json:"server,omitempty"`
	Name   string `json:"name,omitempty"`
}

// Names reports whether it names the tool.
func (n ToolName) Names(t schemas.Tool) bool {
	if n.Server == "" {
		return n.Name == t.Name
	}
	return n.Server == t.Server && (n.Name == "" || n.Name == t.ToolName || n.Name == t.Name)
}

// narrow returns the restriction as the chooser of tools uses it.
func (w *task) narrow() func(schemas.Tool) (schemas.Tool, bool) {
	if w.turn.Narrow == nil {
		return nil
	}
	return w.turn.Narrow.Apply
}

// Apply returns a tool as it may be called, and false for one that may not.
func (n *Narrowing) Apply(t schemas.Tool) (schemas.Tool, bool) {
	if t.Server == schemas.ToolServer && slices.Contains(n.Without, t.Name) {
		return t, false
	}
	asked := t.Server == schemas.ToolServer && slices.Contains(n.Asked, t.ToolName)
	if len(n.Servers) > 0 && !asked {
		chosen, named := n.Servers[t.Server]
		if !named || !chosen.Allowed.Has(t) {
			return t, false
		}
		if chosen.Asking.Has(t) && t.Rules.Policy != schemas.PolicyDeny {
			t.Rules.Policy = schemas.PolicyConfirm
		}
	}
	if n.Only != nil && !slices.ContainsFunc(n.Only, func(o ToolName) bool { return o.Names(t) }) {
		return t, false
	}
	return t, true
}
