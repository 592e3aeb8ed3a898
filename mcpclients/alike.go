package mcpclients

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"molar/internal/text"
	"molar/schemas"
)

// A likeness is a tool whose name a model or a person can take for that of another server's tool.
type likeness struct{ server, note string }

// likenesses returns the tools that can be mistaken for those of another server: by their own names,
// or where an own name reads like the offered name of another tool. Each is told once, with the first
// of the others.
func likenesses(tools []schemas.Tool) []likeness {
	type names struct{ own, offered string }
	read := make([]names, len(tools))
	byName := make(map[string][]int)
	for i, t := range tools {
		if t.Server == schemas.MemoryServer { // it is offered to no model
			continue
		}
		n := names{skeleton(t.ToolName), skeleton(t.Server + t.ToolName)}
		read[i] = n
		byName[n.own] = append(byName[n.own], i)
		if n.offered != n.own {
			byName[n.offered] = append(byName[n.offered], i)
		}
	}
	var all []likeness
	for i, t := range tools {
		first := -1
		for _, name := range []string{read[i].own, read[i].offered} {
			if name == "" {
				continue
			}
			at := slices.IndexFunc(byName[name], func(j int) bool { return tools[j].Server != t.Server })
			if at >= 0 && (first < 0 || byName[name][at] < first) {
				first = byName[name][at]
			}
		}
		if first >= 0 {
			other := tools[first]
			all = append(all, likeness{t.Server, fmt.Sprintf("%s can be mistaken for %s of server %s", text.Shown(t.ToolName), text.Shown(other.ToolName), other.Server)})
		}
	}
	return all
}

// Alike returns notes on the tools of a server that can be mistaken for those of another one.
func (c *Catalogue) Alike(server string) []string {
	var notes []string
	for _, l := range c.alike {
		if l.server == server {
			notes = append(notes, l.note)
		}
	}
	return notes
}

// newlyAlike returns the notes that an earlier catalogue did not have.
func (c *Catalogue) newlyAlike(before *Catalogue) []string {
	var notes []string
	known := make(map[likeness]bool, len(before.alike))
	for _, l := range before.alike {
		known[l] = true
	}
	for _, l := range c.alike {
		if !known[l] {
			notes = append(notes, l.server+": "+l.note)
		}
	}
	return notes
}

// skeleton reduces a name to what a quick reader sees of it: its letters and digits without case and
// marks, and one for each group of look-alikes.
func skeleton(name string) string {
	return strings.Map(func(r rune) rune {
		switch r = unicode.ToLower(text.LookAlike(r)); {
		case r == '0':
			return 'o'
		case r == '1' || r == 'i':
			return 'l'
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			return r
		}
		return -1
	}, text.Fold(name))
}
