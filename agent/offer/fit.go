package offer

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math"
	"slices"

	"molar/schemas"
)

const (
	// base is the part of the room that the first question fills. The rest is for what
	// later ones bring, so that the offer of a conversation grows for a while before it
	// has to be made anew.
	base = 0.75
	// brought is how many tools a later question may bring.
	brought = 8
	// echo is what the question before counts beside a question.
	echo = 0.5
)

// fit offers all tools where there is room for them, else those that fit the conversation.
//
// It goes through the conversation from its oldest question, as the turns before did, and so
// comes to the same tools in the same order as they: the prompt keeps its head. Each question
// adds the few tools that fit it best, and every tool that was called or found stays. When
// the room is used up, the offer is made anew from the newest question.
//
// What was called stays whatever its size, as long as the model's window has it. What was found
// does so within the room.
func (c *Chooser) fit(want Want, tools []schemas.Tool) Choice {
	most := max(0, c.cfg.Most-len(want.Client))
	window := cmp.Or(want.Window, math.MaxInt) - Size(want.Client)
	room := min(cmp.Or(want.Bytes, math.MaxInt)-Size(want.Client), window)
	if most == 0 { // the client's own take all
		return Choice{Rest: tools}
	}
	if len(tools) <= most && Size(Infos(tools)) <= room {
		return Choice{Offered: tools}
	}
	finder := Size([]schemas.ToolInfo{findTools(tools)})
	s := shelf{catalogue: newIndex(tools, c.ranker(tools), want.Asked), most: max(0, most-1), room: room - finder, window: window - finder}
	for i := range want.Asked {
		s.ask(i)
		s.keep(i)
	}
	return s.choice()
}

// A ranker orders the tools that it has read.
type ranker struct {
	tools []schemas.Tool
	rank  func(question string) []Ranked
}

// ranker returns the order of the tools. Reading hundreds of tools takes milliseconds, so those
// of the turn before are kept.
func (c *Chooser) ranker(tools []schemas.Tool) func(question string) []Ranked {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.EqualFunc(c.last.tools, tools, readAlike) {
		c.last = ranker{tools, c.cfg.Rank(Infos(tools))}
	}
	return c.last.rank
}

// readAlike reports whether a ranker reads the same in two tools.
func readAlike(a, b schemas.Tool) bool {
	return a.Name == b.Name && a.ToolName == b.ToolName && a.Server == b.Server && a.Title == b.Title &&
		a.Description == b.Description && bytes.Equal(a.InputSchema, b.InputSchema)
}

// An index is what a conversation chooses from.
type index struct {
	tools []schemas.Tool
	rank  func(question string) []Ranked
	asked []Asked
	// places are those of the tools by their names, and by their own ones.
	places map[string]int
	// uses are the tools that were called or found for each question, once they were looked up.
	uses map[int][]use
}

// A use is a tool that was called, or found.
type use struct {
	name   string
	called bool
}

func newIndex(tools []schemas.Tool, rank func(string) []Ranked, asked []Asked) *index {
	x := &index{tools: tools, rank: rank, asked: asked, places: make(map[string]int, 2*len(tools)), uses: map[int][]use{}}
	for i, t := range slices.Backward(tools) {
		x.places[t.ToolName] = i
	}
	for i, t := range tools {
		x.places[t.Name] = i
	}
	return x
}

// used are the tools that were called for the n-th question, or found.
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

// ranked orders the tools for the n-th question, in the light of the one before.
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
		ranked[i].Score += echo * before[ranked[i].Name]
	}
	slices.SortStableFunc(ranked, func(a, b Ranked) int { return cmp.Compare(b.Score, a.Score) })
	return ranked
}

// A shelf fills up with tools.
type shelf struct {
	catalogue *index
	most      int
	// room is what the tools may take, in bytes, and window what they may where those that were
	// called are more.
	room, window int

	offered []schemas.Tool
	// size is what of the room is taken, and whole what the tools take.
	size, whole int
}

// ask adds what fits the n-th question.
func (s *shelf) ask(n int) {
	ranked := s.catalogue.ranked(n)
	if n == 0 {
		s.begin(ranked)
		return
	}
	best := false // one that fits better is there
	for i, r := range ranked {
		if i == brought || r.Score <= 0 {
			return
		}
		if s.put(use{name: r.Name}, 1) {
			best = true
		} else if best || s.anew(n, ranked, r.Name) {
			return
		}
	}
}

// keep adds what was called or found for the n-th question. It goes beyond the base, and makes
// the offer anew when the room is used up.
func (s *shelf) keep(n int) {
	for _, u := range s.catalogue.used(n) {
		if !s.put(u, 1) && s.anew(n+1, s.catalogue.ranked(n), u.name) {
			return
		}
	}
}

// begin fills the base, in the order of the catalogue. The best tool may take all of the room.
func (s *shelf) begin(ranked []Ranked) {
	before, part := len(s.offered), 1.0
	for _, r := range ranked {
		if s.put(use{name: r.Name}, part) {
			part = base
		}
	}
	for _, t := range s.catalogue.tools { // those that say nothing to the question come last
		s.put(use{name: t.Name}, base)
	}
	slices.SortStableFunc(s.offered[before:], func(a, b schemas.Tool) int {
		return s.catalogue.places[a.Name] - s.catalogue.places[b.Name]
	})
}

// anew empties the shelf and fills it for ranked tools, if that brings the named one onto it.
// What was called or found for the first n questions stays, the newest first: the former as the
// window has it, though it leaves half of the room to the others, the latter within the base.
func (s *shelf) anew(n int, ranked []Ranked, name string) bool {
	fresh := *s
	fresh.offered, fresh.size, fresh.whole = nil, 0, 0
	fresh.take(n, true)
	fresh.size = min(fresh.size, fresh.room/2)
	fresh.take(n, false)
	if fresh.begin(ranked); !fresh.has(name) {
		return false
	}
	*s = fresh
	return true
}

// take adds what was called for the first n questions, the newest first, or what was found, the
// best for the newest first.
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

// put adds a tool and reports whether it is there: false means that it does not fit into that
// part of the room, or, when it was called, into the window. A tool that is unknown is passed
// over.
func (s *shelf) put(u use, part float64) bool {
	at, known := s.catalogue.places[u.name]
	if !known || s.has(u.name) {
		return true
	}
	tool := s.catalogue.tools[at]
	size := Size([]schemas.ToolInfo{tool.ToolInfo})
	if len(s.offered) >= s.most || size > s.window-s.whole {
		return false
	}
	if !u.called && (float64(len(s.offered)+1) > part*float64(s.most)+0.5 || float64(s.size+size) > part*float64(s.room)) {
		return false
	}
	s.offered, s.size, s.whole = append(s.offered, tool), s.size+size, s.whole+size
	return true
}

// has reports whether a tool that is known is on the shelf.
func (s *shelf) has(name string) bool {
	at, known := s.catalogue.places[name]
	return known && slices.ContainsFunc(s.offered, func(t schemas.Tool) bool { return t.Name == s.catalogue.tools[at].Name })
}

func (s *shelf) choice() Choice {
	choice := Choice{Offered: s.offered, Finder: &Finder{rank: s.catalogue.rank, tools: s.catalogue.tools, space: unbounded()}}
	for _, t := range s.catalogue.tools {
		if s.has(t.Name) {
			choice.Finder.offered = append(choice.Finder.offered, t.Name)
		} else {
			choice.Rest = append(choice.Rest, t)
		}
	}
	return choice
}

// Infos are the tools without their rules.
func Infos(tools []schemas.Tool) []schemas.ToolInfo {
	out := make([]schemas.ToolInfo, len(tools))
	for i, t := range tools {
		out[i] = t.ToolInfo
	}
	return out
}
