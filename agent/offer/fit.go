package offer

import (
	"bytes"
	"encoding/json"
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
func (c *Chooser) fit(want Want, tools []schemas.Tool) Choice {
	most, room := max(0, c.cfg.Most-len(want.Client)), want.Bytes-Size(want.Client)
	if want.Bytes == 0 {
		room = Size(Infos(tools))
	}
	if most == 0 { // the client's own take all
		return Choice{Rest: tools}
	}
	if len(tools) <= most && Size(Infos(tools)) <= room {
		return Choice{Offered: tools}
	}
	s := shelf{tools: tools, rank: c.ranker(tools), most: max(0, most-1), room: room - Size([]schemas.ToolInfo{findTools(tools)})}
	for i := range want.Asked {
		s.ask(want.Asked[:i+1])
		s.keep(want.Asked[:i+1])
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

// A shelf fills up with tools.
type shelf struct {
	tools []schemas.Tool
	rank  func(question string) []Ranked
	most  int
	room  int // in bytes

	offered []schemas.Tool
	size    int
}

// ask adds what fits the last of the questions.
func (s *shelf) ask(asked []Asked) {
	if len(asked) == 1 {
		s.begin(s.ranked(asked))
		return
	}
	for i, r := range s.ranked(asked) {
		if i == brought || r.Score <= 0 {
			return
		}
		if !s.add(r.Name, 1) {
			if i == 0 { // not even the best one: the offer is made anew
				s.anew(asked)
			}
			return
		}
	}
}

// begin fills the base, in the order of the catalogue.
func (s *shelf) begin(ranked []Ranked) {
	before := len(s.offered)
	for _, r := range ranked {
		s.add(r.Name, base)
	}
	for _, t := range s.tools { // those that say nothing to the question come last
		s.add(t.Name, base)
	}
	order := make(map[string]int, len(s.tools))
	for i, t := range s.tools {
		order[t.Name] = i
	}
	slices.SortStableFunc(s.offered[before:], func(a, b schemas.Tool) int { return order[a.Name] - order[b.Name] })
}

// anew empties the shelf and fills it from the newest of the questions; what was called or
// found stays, the newest first.
func (s *shelf) anew(asked []Asked) {
	s.offered, s.size = nil, 0
	for i := len(asked) - 2; i >= 0; i-- {
		for _, name := range s.used(asked[i]) {
			s.add(name, base)
		}
	}
	s.begin(s.ranked(asked))
}

// keep adds what was called or found for the last of the questions. It goes beyond the
// base, and makes the offer anew when the room is used up.
func (s *shelf) keep(asked []Asked) {
	last := asked[len(asked)-1]
	for _, name := range s.used(last) {
		if !s.add(name, 1) {
			s.anew(append(slices.Clone(asked), Asked{Question: last.Question}))
			return
		}
	}
}

// used names the tools that were called for a question, or found.
func (s *shelf) used(asked Asked) []string {
	var names []string
	for _, call := range asked.Calls {
		if call.Function.Name == FindTools {
			for _, t := range find(s.rank, s.tools, wordsIn(json.RawMessage(call.Function.Arguments))) {
				names = append(names, t.Name)
			}
			continue
		}
		names = append(names, call.Function.Name)
	}
	return names
}

// ranked orders the tools for the last of the questions, in the light of the one before.
func (s *shelf) ranked(asked []Asked) []Ranked {
	ranked := slices.Clone(s.rank(asked[len(asked)-1].Question))
	if len(asked) == 1 {
		return ranked
	}
	before := make(map[string]float64, len(ranked))
	for _, r := range s.rank(asked[len(asked)-2].Question) {
		before[r.Name] = r.Score
	}
	for i := range ranked {
		ranked[i].Score += echo * before[ranked[i].Name]
	}
	slices.SortStableFunc(ranked, func(a, b Ranked) int {
		switch {
		case a.Score > b.Score:
			return -1
		case a.Score < b.Score:
			return 1
		}
		return 0
	})
	return ranked
}

// add puts a tool on the shelf and reports whether it is there: false means that it does
// not fit into that part of the room. A tool that is unknown is passed over.
func (s *shelf) add(name string, part float64) bool {
	at := slices.IndexFunc(s.tools, func(t schemas.Tool) bool { return t.Name == name || t.ToolName == name })
	if at < 0 || slices.ContainsFunc(s.offered, func(t schemas.Tool) bool { return t.Name == s.tools[at].Name }) {
		return true
	}
	size := Size([]schemas.ToolInfo{s.tools[at].ToolInfo})
	if float64(len(s.offered)+1) > part*float64(s.most)+0.5 || float64(s.size+size) > part*float64(s.room) {
		return false
	}
	s.offered, s.size = append(s.offered, s.tools[at]), s.size+size
	return true
}

func (s *shelf) choice() Choice {
	choice := Choice{Offered: s.offered, Finder: &Finder{rank: s.rank, tools: s.tools}}
	for _, t := range s.tools {
		if Has(Infos(s.offered), t.Name) {
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
