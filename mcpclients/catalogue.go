package mcpclients

import (
	"cmp"
	"slices"

	"molar/schemas"
	"molar/schemas/lower"
)

// A Catalogue is an immutable snapshot of the tools of all attached servers.
type Catalogue struct {
	tools   []schemas.Tool
	offered map[string]int // offered name to index
	own     map[string]int // tool's own name to index; -1 if several servers have it
	alike   []likeness     // tools that can be mistaken for each other; empty in a part of a catalogue
}

// NewCatalogue sorts, names and indexes the tools. It keeps tools.
func NewCatalogue(tools []schemas.Tool) *Catalogue {
	slices.SortFunc(tools, func(a, b schemas.Tool) int {
		return cmp.Or(cmp.Compare(a.Server, b.Server), cmp.Compare(a.ToolName, b.ToolName))
	})
	offerNames(tools)
	for i := range tools {
		tools[i].InputSchema = lower.Trim(tools[i].InputSchema)
	}
	c := index(tools)
	c.alike = likenesses(tools)
	return c
}

// Of returns the tools of the given servers, under the names of this catalogue.
func (c *Catalogue) Of(servers map[string]bool) *Catalogue {
	var tools []schemas.Tool
	for _, t := range c.tools {
		if servers[t.Server] {
			tools = append(tools, t)
		}
	}
	return index(tools)
}

// index indexes sorted and named tools. It keeps tools.
func index(tools []schemas.Tool) *Catalogue {
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

// Tools returns all tools, sorted by server and own name. The slice is shared and must not be
// changed.
func (c *Catalogue) Tools() []schemas.Tool {
	return slices.Clip(c.tools)
}

// Lookup finds a tool by its offered name, else by its own name if only one server has it.
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
