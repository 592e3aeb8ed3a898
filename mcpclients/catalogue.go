package mcpclients

import (
	"cmp"
	"path"
	"slices"

	"molar/schemas"
)

// A Catalogue is an immutable snapshot of the tools of all attached servers.
type Catalogue struct {
	tools   []schemas.Tool
	offered map[string]int // offered name to index
	own     map[string]int // tool's own name to index; -1 where several servers have it
}

// newCatalogue sorts the tools, names them and indexes them. It keeps tools.
func newCatalogue(tools []schemas.Tool) *Catalogue {
	slices.SortFunc(tools, func(a, b schemas.Tool) int {
		return cmp.Or(cmp.Compare(a.Server, b.Server), cmp.Compare(a.ToolName, b.ToolName))
	})
	offerNames(tools)
	c := &Catalogue{tools: tools, offered: make(map[string]int, len(tools)), own: make(map[string]int, len(tools))}
	for i, t := range tools {
		c.offered[t.Name] = i
		if _, clash := c.own[t.ToolName]; clash {
			c.own[t.ToolName] = -1
		} else {
			c.own[t.ToolName] = i
		}
	}
	return c
}

// Tools returns all tools, sorted by server and the tool's own name. The slice is
// the caller's; what its schemas point to is shared and must not be changed.
func (c *Catalogue) Tools() []schemas.Tool {
	return slices.Clone(c.tools)
}

// Lookup finds a tool by its offered name, else by its own name where only one
// server has a tool of that name.
func (c *Catalogue) Lookup(name string) (schemas.Tool, bool) {
	i, ok := c.offered[name]
	if !ok {
		i, ok = c.own[name]
	}
	if !ok || i < 0 {
		return schemas.Tool{}, false
	}
	return c.tools[i], true
}

// rule returns the operator's rules for a tool: those of the first glob that
// matches its own name, else the policy auto.
func (s *ServerConfig) rule(tool string) schemas.ToolRules {
	for _, r := range s.Rules {
		if matches(r.Glob, tool) {
			rules := r.ToolRules
			rules.Policy = cmp.Or(rules.Policy, schemas.PolicyAuto)
			return rules
		}
	}
	return schemas.ToolRules{Policy: schemas.PolicyAuto}
}

// includes reports whether the config lets a tool of this name through.
func (s *ServerConfig) includes(tool string) bool {
	any := func(globs []string) bool {
		return slices.ContainsFunc(globs, func(glob string) bool { return matches(glob, tool) })
	}
	return (len(s.IncludeTools) == 0 || any(s.IncludeTools)) && !any(s.ExcludeTools)
}

// matches is [path.Match] for globs that were checked when the config was read.
func matches(glob, name string) bool {
	ok, err := path.Match(glob, name)
	return err == nil && ok
}
