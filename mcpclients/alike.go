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
// or where an own name reads like the offered name of another tool.
func likenesses(tools []schemas.Tool) []likeness {
	byName := make(map[string][]schemas.Tool)
	for _, t := range tools {
		if t.Server == schemas.MemoryServer { // it is offered to no model
			continue
		}
		own, offered := skeleton(t.ToolName), skeleton(t.Server+t.ToolName)
		byName[own] = append(byName[own], t)
		if offered != own {
			byName[offered] = append(byName[offered], t)
		}
	}
	var all []likeness
	for _, t := range tools {
		if t.Server == schemas.MemoryServer {
			continue
		}
		var others []schemas.Tool
		for _, name := range []string{skeleton(t.ToolName), skeleton(t.Server + t.ToolName)} {
			for _, other := range byName[name] {
				if other.Server != t.Server && !slices.ContainsFunc(others, func(o schemas.Tool) bool { return o.Name == other.Name }) {
					others = append(others, other)
				}
			}
		}
		for _, other := range others {
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
	for _, l := range c.alike {
		if !slices.Contains(before.alike, l) {
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
