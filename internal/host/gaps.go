package host

import (
	"cmp"
	"maps"
	"slices"

	"molar/internal/text"
	"molar/mcpservers/knowledge"
	"molar/schemas"
)

// maxGapExamples is how many questions of a group are shown.
const maxGapExamples = 3

// A group collects similar questions to one assistant.
type group struct {
	schemas.Gap
	words   []string          // forms of those of the first question
	times   map[string]int    // how many questions have each word
	written map[string]string // each word as a question has it
}

// GapsOf groups turns, given newest first: those with a question by the words that they have in common,
// the others by their reason. The largest group comes first.
func GapsOf(turns []schemas.ListedTurn) []schemas.Gap {
	var groups []*group
	for _, t := range turns {
		var words []string
		var written map[string]string
		if t.Question != nil {
			written = knowledge.WrittenWords(*t.Question)
			words = slices.Sorted(maps.Keys(written))
		}
		at := slices.IndexFunc(groups, func(g *group) bool {
			return g.Assistant == t.Assistant && g.Reason == t.Reason && (t.Question == nil) == (g.words == nil) && (t.Question == nil || alike(g.words, words))
		})
		if at < 0 {
			at = len(groups)
			g := &group{Gap: schemas.Gap{Assistant: t.Assistant, Reason: t.Reason, Last: t.At, Words: []string{}, Examples: []schemas.GapExample{}}, times: map[string]int{}, written: map[string]string{}}
			if t.Question != nil {
				g.words = append([]string{}, words...)
			}
			groups = append(groups, g)
		}
		g := groups[at]
		g.Count++
		for _, w := range words {
			form := w
			if at := slices.IndexFunc(g.words, func(of string) bool { return sameWord(of, w) }); at >= 0 {
				form = g.words[at]
			}
			g.times[form]++
			if was, ok := g.written[form]; !ok || text.NewWord(was).Bare && !text.NewWord(w).Bare {
				g.written[form] = written[w]
			}
		}
		if t.Question != nil && len(g.Examples) < maxGapExamples {
			g.Examples = append(g.Examples, schemas.GapExample{Turn: t.ID, Question: *t.Question})
		}
	}
	gaps := make([]schemas.Gap, len(groups))
	for i, g := range groups {
		for w, n := range g.times {
			if 2*n >= g.Count {
				g.Words = append(g.Words, w)
			}
		}
		slices.SortFunc(g.Words, func(a, b string) int { return cmp.Or(cmp.Compare(g.times[b], g.times[a]), cmp.Compare(a, b)) })
		for at, form := range g.Words {
			g.Words[at] = g.written[form]
		}
		gaps[i] = g.Gap
	}
	slices.SortStableFunc(gaps, func(a, b schemas.Gap) int { return cmp.Compare(b.Count, a.Count) })
	return gaps
}

// alike reports whether two questions have at least half of their words in common.
func alike(a, b []string) bool {
	common := 0
	for _, w := range b {
		if slices.ContainsFunc(a, func(of string) bool { return sameWord(of, w) }) {
			common++
		}
	}
	return len(a) == len(b) && common == len(a) || common > 0 && 2*common >= len(a)+len(b)-common
}

// sameWord reports whether two words are the same, or one of them is the other without marks, as many
// write Vietnamese.
func sameWord(a, b string) bool {
	return a == b || text.Fold(a) == text.Fold(b) && (text.NewWord(a).Bare || text.NewWord(b).Bare)
}
