package offer

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"

	"molar/schemas"
)

const (
	// base is the part of the room that the first question fills. The rest is for later ones, so
	// that the offer of a conversation grows for a while before it must be rebuilt.
	base = 0.75
	// addedPerQuestion is how many tools a later question may add.
	addedPerQuestion = 8
	// previousWeight is the weight of the previous question's scores.
	previousWeight = 0.5
)

// fit offers all tools if there is room for them, be it with shorter descriptions, else those that fit the
// conversation.
//
// It replays the conversation from its oldest question, as earlier turns did, and so offers the
// same tools in the same order: the beginning of the prompt stays cached. Each question adds the
// few tools that fit it best, and every called or found tool stays. When the room is used up, the
// offer is rebuilt from the newest question.
//
// A called tool stays whatever its size, as long as it fits the model's window, and so does one that
// the operator wants offered always; a found one stays within the room.
func (c *Chooser) fit(want Want, tools []schemas.Tool) Choice {
	others := slices.Concat(want.Client, want.Skills.tools())
	most := max(0, c.cfg.Most-len(others))
	window := cmp.Or(want.Window, math.MaxInt) - Size(others)
	room := min(cmp.Or(want.Bytes, math.MaxInt)-Size(others), window)
	if most == 0 { // the client's own tools take all places
		return Choice{Rest: tools}
	}
	only := want.Skills.finder()
	forms, all := c.forms(tools, room-Size(only.tool()), most-len(only.tool()))
	if all {
		return Choice{Offered: tools, Shown: forms, Finder: only}
	}
	finder := Size([]schemas.ToolInfo{findTools(tools, want.Skills)})
	s := shelf{
		catalogue: newIndex(tools, forms, c.ranker(tools), want.Questions), skills: want.Skills,
		most: max(0, most-1), room: room - finder, window: window - finder,
	}
	s.putAlways()
	for i := range want.Questions {
		s.ask(i)
		s.keep(i)
	}
	return s.choice()
}

// ranker returns the ranking of the tools. Indexing hundreds of tools takes milliseconds, so the index is
// kept for later turns.
func (c *Chooser) ranker(tools []schemas.Tool) func(question string) []Ranked {
	return c.ranks.of(tools, 0, 0, func() func(string) []Ranked { return c.cfg.Rank(Infos(tools)) })
}

// A shown is the result of [Forms].
type shown struct {
	forms []schemas.ToolInfo
	all   bool
}

// forms returns the [Forms] of the tools, kept as well.
func (c *Chooser) forms(tools []schemas.Tool, room, most int) (forms []schemas.ToolInfo, all bool) {
	s := c.shown.of(tools, room, most, func() shown {
		forms, all := Forms(Infos(tools), room, most)
		return shown{slices.Clip(forms), all}
	})
	return s.forms, s.all
}

// An index holds the tools and questions of a conversation.
type index struct {
	tools []schemas.Tool
	// forms are the tools as they are offered.
	forms []schemas.ToolInfo
	rank  func(question string) []Ranked
	asked []Question
	// places are the indexes of the tools by offered name and by the server's name.
	places map[string]int
	// uses caches the tools that were called or found for each question.
	uses map[int][]use
}

// formOf returns a tool of the catalogue as it is offered.
func (x *index) formOf(t schemas.ToolInfo) schemas.ToolInfo { return x.forms[x.places[t.Name]] }

// A use is a called or found tool.
type use struct {
	name   string
	called bool
}

func newIndex(tools []schemas.Tool, forms []schemas.ToolInfo, rank func(string) []Ranked, asked []Question) *index {
	x := &index{tools: tools, forms: forms, rank: rank, asked: asked, places: make(map[string]int, 2*len(tools)), uses: map[int][]use{}}
	for i, t := range slices.Backward(tools) {
		x.places[t.ToolName] = i
	}
	for i, t := range tools {
		x.places[t.Name] = i
	}
	return x
}

// used returns the tools that were called or found for the n-th question.
func (x *index) used(n int) []use {
	if uses, known := x.uses[n]; known {
		return uses
	}
	var uses []use
	for _, call := range x.asked[n].Calls {
		if call.Function.Name == FindTools {
			for _, t := range find(x.rank, x.tools, wordsIn(json.RawMessage(call.Function.Arguments))) {
				uses = append(uses, use{name: t.Name})
			}
			continue
		}
		uses = append(uses, use{call.Function.Name, true})
	}
	x.uses[n] = uses
	return uses
}

// ranked ranks the tools for the n-th question, with the previous one's scores added.
func (x *index) ranked(n int) []Ranked {
	ranked := slices.Clone(x.rank(x.asked[n].Question))
	if n == 0 {
		return ranked
	}
	before := make(map[string]float64, len(ranked))
	for _, r := range x.rank(x.asked[n-1].Question) {
		before[r.Name] = r.Score
	}
	for i := range ranked {
		ranked[i].Score += previousWeight * before[ranked[i].Name]
	}
	slices.SortStableFunc(ranked, func(a, b Ranked) int { return cmp.Compare(b.Score, a.Score) })
	return ranked
}

// A shelf is an offer being filled.
type shelf struct {
	catalogue *index
	skills    *Skills
	most      int
	// room is what the tools may take, in bytes; called ones may exceed it up to window.
	room, window int

	offered []schemas.Tool
	// size is the used part of room; whole is the size of all offered tools.
	size, whole int
}

// ask adds the tools that fit the n-th question.
func (s *shelf) ask(n int) {
	ranked := s.catalogue.ranked(n)
	if n == 0 {
		s.begin(ranked)
		return
	}
	best := false // a better match is offered
	for i, r := range ranked {
		if i == addedPerQuestion || r.Score <= 0 {
			return
		}
		if s.put(use{name: r.Name}, 1) {
			best = true
		} else if best || s.rebuild(n, ranked, r.Name) {
			return
		}
	}
}

// keep adds the tools that were called or found for the n-th question. They may exceed the base;
// the offer is rebuilt when the room is used up.
func (s *shelf) keep(n int) {
	for _, u := range s.catalogue.used(n) {
		if !s.put(u, 1) && s.rebuild(n+1, s.catalogue.ranked(n), u.name) {
			return
		}
	}
}

// begin fills the base, and sorts it in the order of the catalogue. The best tool may take all of
// the room.
func (s *shelf) begin(ranked []Ranked) {
	before, part := len(s.offered), 1.0
	for _, r := range ranked {
		if s.put(use{name: r.Name}, part) {
			part = base
		}
	}
	for _, t := range s.catalogue.tools { // those that do not match come last
		s.put(use{name: t.Name}, base)
	}
	slices.SortStableFunc(s.offered[before:], func(a, b schemas.Tool) int {
		return s.catalogue.places[a.Name] - s.catalogue.places[b.Name]
	})
}

// rebuild empties the shelf and fills it with ranked tools, if the named one then fits. Tools of
// the first n questions stay, the newest first: called ones within the window, counting for at most
// half of the room, found ones within the base.
func (s *shelf) rebuild(n int, ranked []Ranked, name string) bool {
	fresh := *s
	fresh.offered, fresh.size, fresh.whole = nil, 0, 0
	fresh.putAlways()
	fresh.take(n, true)
	fresh.size = min(fresh.size, fresh.room/2)
	fresh.take(n, false)
	if fresh.begin(ranked); !fresh.has(name) {
		return false
	}
	*s = fresh
	return true
}

// putAlways adds the tools that the operator wants offered always, as far as the window has room.
// They count for at most half of the room.
func (s *shelf) putAlways() {
	for _, t := range s.catalogue.tools {
		if t.Rules.Always {
			s.put(use{t.Name, true}, base)
		}
	}
	s.size = min(s.size, s.room/2)
}

// take adds the called tools of the first n questions, the newest first, or the found ones, the
// newest question's best first.
func (s *shelf) take(n int, called bool) {
	for i := range n {
		uses := slices.Clone(s.catalogue.used(n - 1 - i))
		if called {
			slices.Reverse(uses)
		}
		for _, u := range uses {
			if u.called == called {
				s.put(u, base)
			}
		}
	}
}

// put adds a tool and reports whether it is offered: false means that it does not fit into that
// part of the room, or, for a called one, into the window. An unknown tool is skipped, with true.
func (s *shelf) put(u use, part float64) bool {
	at, known := s.catalogue.places[u.name]
	if !known || s.has(u.name) {
		return true
	}
	tool := s.catalogue.tools[at]
	size := Size([]schemas.ToolInfo{s.catalogue.forms[at]})
	if len(s.offered) >= s.most || size > s.window-s.whole {
		return false
	}
	if !u.called && (float64(len(s.offered)+1) > part*float64(s.most)+0.5 || float64(s.size+size) > part*float64(s.room)) {
		return false
	}
	s.offered, s.size, s.whole = append(s.offered, tool), s.size+size, s.whole+size
	return true
}

// has reports whether a known tool is on the shelf.
func (s *shelf) has(name string) bool {
	at, known := s.catalogue.places[name]
	if !known {
		return false
	}
	name = s.catalogue.tools[at].Name
	for i := range s.offered { // a tool is too large to be copied for each look
		if s.offered[i].Name == name {
			return true
		}
	}
	return false
}

func (s *shelf) choice() Choice {
	choice := Choice{Offered: s.offered, Finder: &Finder{rank: s.catalogue.rank, tools: s.catalogue.tools, skills: s.skills, form: s.catalogue.formOf, space: unbounded()}}
	for _, t := range s.offered {
		choice.Shown = append(choice.Shown, s.catalogue.formOf(t.ToolInfo))
	}
	for _, t := range s.catalogue.tools {
		if s.has(t.Name) {
			choice.Finder.offered = append(choice.Finder.offered, t.Name)
		} else {
			choice.Rest = append(choice.Rest, t)
		}
	}
	return choice
}

// Infos returns the tools without their rules.
func Infos(tools []schemas.Tool) []schemas.ToolInfo {
	out := make([]schemas.ToolInfo, len(tools))
	for i, t := range tools {
		out[i] = t.ToolInfo
	}
	return out
}
