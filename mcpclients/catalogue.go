package mcpclients

import (
	"cmp"
	"slices"
	"sync"

	"molar/schemas"
	"molar/schemas/lower"
)

// A Catalogue is an immutable snapshot of the tools of all attached servers.
type Catalogue struct {
	tools []schemas.Tool
	alike []likeness // tools that can be mistaken for each other; empty in a part of a catalogue
	parts []*part    // what it was merged from
	index func() index
}

// An index finds tools by name.
type index struct {
	offered map[string]int // offered name to place
	own     map[string]int // tool's own name to place; -1 if several servers have it
}

// A part is the tools of one server, sorted by their own names, with their labels.
type part struct {
	tools  []schemas.Tool
	labels []*label
}

// NewCatalogue sorts, names and indexes the tools.
func NewCatalogue(tools []schemas.Tool) *Catalogue {
	all := &part{tools: slices.Clone(tools), labels: make([]*label, len(tools))}
	slices.SortFunc(all.tools, func(a, b schemas.Tool) int {
		return cmp.Or(cmp.Compare(a.Server, b.Server), cmp.Compare(a.ToolName, b.ToolName))
	})
	for i, t := range all.tools {
		l := newLabel(t.Server, t.ToolName)
		all.labels[i], all.tools[i].InputSchema = &l, lower.Trim(t.InputSchema)
	}
	return merge([]*part{all})
}

// merge names the tools of all servers. The parts are sorted by server, and are not changed.
func merge(parts []*part) *Catalogue {
	n := 0
	for _, p := range parts {
		n += len(p.tools)
	}
	tools, labels := make([]schemas.Tool, 0, n), make([]*label, 0, n)
	for _, p := range parts {
		tools, labels = append(tools, p.tools...), append(labels, p.labels...)
	}
	offerNames(tools, labels)
	c := newCatalogue(tools)
	c.alike, c.parts = likenesses(tools, labels), parts
	return c
}

// newCatalogue returns a catalogue of sorted and named tools. Most catalogues are replaced before a
// name is looked up, so that the index waits for the first one.
func newCatalogue(tools []schemas.Tool) *Catalogue {
	return &Catalogue{tools: tools, index: sync.OnceValue(func() index { return newIndex(tools) })}
}

// of returns the tools of the given servers, under the names of this catalogue.
func (c *Catalogue) of(servers map[string]bool) *Catalogue {
	missing := func(t schemas.Tool) bool { return !servers[t.Server] }
	if !slices.ContainsFunc(c.tools, missing) {
		return c
	}
	return newCatalogue(slices.DeleteFunc(slices.Clone(c.tools), missing))
}

func newIndex(tools []schemas.Tool) index {
	x := index{offered: make(map[string]int, len(tools)), own: make(map[string]int, len(tools))}
	for i, t := range tools {
		x.offered[t.Name] = i
		if _, clash := x.own[t.ToolName]; clash {
			x.own[t.ToolName] = -1
		} else {
			x.own[t.ToolName] = i
		}
	}
	return x
}

// Tools returns all tools, sorted by server and own name. The slice is shared and must not be
// changed.
func (c *Catalogue) Tools() []schemas.Tool {
	return slices.Clip(c.tools)
}

// Lookup finds a tool by its offered name, else by its own name if only one server has it.
func (c *Catalogue) Lookup(name string) (schemas.Tool, bool) {
	x := c.index()
	i, ok := x.offered[name]
	if !ok {
		i, ok = x.own[name]
	}
	if !ok || i < 0 {
		return schemas.Tool{}, false
	}
	return c.tools[i], true
}
