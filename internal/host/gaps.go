package host

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"molar/internal/text"
	"molar/mcpservers/knowledge"
	"molar/schemas"
)

// maxGapExamples is how many questions of a group are shown.
const maxGapExamples = 3

// A group collects similar questions to one assistant, the newest first.
type group struct {
	words []string // forms of those of the first question; nil if the texts are not kept
	turns []schemas.ListedTurn
	// corrected is when the right answer was last written to one of the questions.
	corrected time.Time
}

// GapsOf groups turns, given newest first: those with a question by the words that they have in common,
// the others by their reason. The largest group comes first. Turns count from since on, and only if no right
// answer was written after them: of their group, or of the turn itself where the question is not kept.
func GapsOf(turns []schemas.ListedTurn, since time.Time) []schemas.Gap {
	var groups []*group
	for _, t := range turns {
		words := wordsOf(t)
		at := slices.IndexFunc(groups, func(g *group) bool {
			first := g.turns[0]
			return first.Assistant == t.Assistant && first.Reason == t.Reason && (t.Question == nil) == (g.words == nil) && (t.Question == nil || alike(g.words, words))
		})
		if at < 0 {
			at = len(groups)
			groups = append(groups, &group{words: words})
		}
		g := groups[at]
		g.turns = append(g.turns, t)
		if t.Corrected.After(g.corrected) {
			g.corrected = t.Corrected
		}
	}
	gaps := []schemas.Gap{}
	for _, g := range groups {
		open := slices.DeleteFunc(g.turns, func(t schemas.ListedTurn) bool {
			corrected := g.corrected
			if t.Question == nil { // one reason may be that of many questions
				corrected = t.Corrected
			}
			return t.At.Before(since) || !corrected.IsZero() && !t.At.After(corrected)
		})
		if len(open) > 0 {
			gaps = append(gaps, gapOf(open, g.words))
		}
	}
	slices.SortStableFunc(gaps, func(a, b schemas.Gap) int { return cmp.Compare(b.Count, a.Count) })
	return gaps
}

// wordsOf returns the words of a turn's question, sorted; nil if its text is not kept.
func wordsOf(t schemas.ListedTurn) []string {
	if t.Question == nil {
		return nil
	}
	return append([]string{}, slices.Sorted(maps.Keys(knowledge.WrittenWords(*t.Question)))...)
}

// gapOf returns what is shown of a group: its newest questions, and the words that at least half of them
// have, in the forms of the group's first question.
func gapOf(turns []schemas.ListedTurn, words []string) schemas.Gap {
	newest := turns[0]
	gap := schemas.Gap{Assistant: newest.Assistant, Reason: newest.Reason, Last: newest.At, Count: len(turns), Words: []string{}, Examples: []schemas.GapExample{}}
	times := map[string]int{}      // how many questions have each word
	written := map[string]string{} // each word as a question has it
	for _, t := range turns {
		if t.Question == nil {
			continue
		}
		asked := knowledge.WrittenWords(*t.Question)
		for _, w := range slices.Sorted(maps.Keys(asked)) {
			form := w
			if at := slices.IndexFunc(words, func(of string) bool { return sameWord(of, w) }); at >= 0 {
				form = words[at]
			}
			times[form]++
			if was, ok := written[form]; !ok || text.NewWord(was).Bare && !text.NewWord(w).Bare {
				written[form] = asked[w]
			}
		}
		if len(gap.Examples) < maxGapExamples {
			gap.Examples = append(gap.Examples, schemas.GapExample{Turn: t.ID, Question: *t.Question})
		}
	}
	for w, n := range times {
		if 2*n >= gap.Count {
			gap.Words = append(gap.Words, w)
		}
	}
	slices.SortFunc(gap.Words, func(a, b string) int { return cmp.Or(cmp.Compare(times[b], times[a]), cmp.Compare(a, b)) })
	for at, form := range gap.Words {
		gap.Words[at] = written[form]
	}
	return gap
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
