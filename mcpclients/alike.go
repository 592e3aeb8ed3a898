package mcpclients

import (
	"fmt"
	"strings"
	"unicode"

	"molar/internal/text"
	"molar/schemas"
)

// A likeness is a tool whose name a model or a person can take for that of another server's tool.
type likeness struct{ server, tool, other, otherTool string }

// A pair is what two tools of different servers have in common for a quick reader: the places of the
// first tool, and of the first one of another server, -1 if there is none.
type pair struct{ first, other int }

// likenesses returns the tools that can be mistaken for those of another server: by their own names,
// or where an own name reads like the offered name of another tool. Each is told once, with the first
// of the others. labels are those of the tools.
func likenesses(tools []schemas.Tool, labels []*label) []likeness {
	pairs := make(map[string]pair, 2*len(tools))
	add := func(name string, i int) {
		switch r, known := pairs[name]; {
		case !known:
			pairs[name] = pair{i, -1}
		case r.other < 0 && tools[r.first].Server != tools[i].Server:
			pairs[name] = pair{r.first, i}
		}
	}
	for i, l := range labels {
		if tools[i].Server == schemas.MemoryServer { // it is offered to no model
			continue
		}
		add(l.own, i)
		add(l.offered, i)
	}
	var all []likeness
	for i, l := range labels {
		t := &tools[i]
		if t.Server == schemas.MemoryServer {
			continue
		}
		first := -1
		for _, name := range []string{l.own, l.offered} {
			r := pairs[name]
			at := r.first
			if tools[at].Server == t.Server {
				at = r.other
			}
			if name != "" && at >= 0 && (first < 0 || at < first) {
				first = at
			}
		}
		if first >= 0 {
			other := &tools[first]
			all = append(all, likeness{t.Server, t.ToolName, other.Server, other.ToolName})
		}
	}
	return all
}

// Alike returns notes on the tools of a server that can be mistaken for those of another one.
func (c *Catalogue) Alike(server string) []string {
	var its []likeness
	for _, l := range c.alike {
		if l.server == server {
			its = append(its, l)
		}
	}
	return notesOf(its)
}

// newlyAlike returns the notes, each with its server, on what an earlier catalogue did not have.
func (c *Catalogue) newlyAlike(before *Catalogue) []string {
	if len(c.alike) == 0 {
		return nil
	}
	known := make(map[likeness]bool, len(before.alike))
	for _, l := range before.alike {
		known[l] = true
	}
	var servers []string
	newly := make(map[string][]likeness)
	for _, l := range c.alike {
		if known[l] {
			continue
		}
		if newly[l.server] == nil {
			servers = append(servers, l.server)
		}
		newly[l.server] = append(newly[l.server], l)
	}
	var notes []string
	for _, server := range servers {
		for _, note := range notesOf(newly[server]) {
			notes = append(notes, server+": "+note)
		}
	}
	return notes
}

// notesOf describes what is alike of one server: one note for all tools that have the names of another
// server's, as with one program that is attached twice, and one for each other tool.
func notesOf(its []likeness) []string {
	same := make(map[string][]string) // by the other server
	for _, l := range its {
		if l.tool == l.otherTool {
			same[l.other] = append(same[l.other], text.Shown(l.tool))
		}
	}
	var notes []string
	for _, l := range its {
		names := same[l.other]
		switch {
		case l.tool != l.otherTool || len(names) == 1:
			notes = append(notes, fmt.Sprintf("%s can be mistaken for %s of server %s", text.Shown(l.tool), text.Shown(l.otherTool), l.other))
		case len(names) > 1:
			notes = append(notes, fmt.Sprintf("%s can be mistaken for tools of the same names of server %s", strings.Join(names, ", "), l.other))
			same[l.other] = nil
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
