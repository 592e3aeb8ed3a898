package learn

import (
	"cmp"
	"math"
	"slices"

	"molar/agent/subject"
	"molar/agent/subject/scoring"
)

const (
	// mostWrong bounds the upper end of the 95 % interval of the share of wrong decisions among sure
	// ones.
	mostWrong = 0.01
	// fewWrong bounds their number: who has many lines can demand more of them. It does not bind
	// for messages that name the topic, which are the plain questions of most people.
	fewWrong = 12
)

// A judged line is one that a classifier judged that was trained without its group.
type judged struct {
	in bool
	subject.Weighing
	// verdict is what code decided; its sureness was proven by lines of other parts.
	verdict subject.Verdict
}

// thresholds returns the scores from which on code may be sure, as far as the lines prove it: for
// admitting and refusing separately. What they do not prove is never sure.
func thresholds(lines []judged) subject.Sure {
	var in, named, out []decision
	var leaving []float64
	for _, l := range lines {
		if l.MayAdmit {
			in = append(in, decision{l.Alone, !l.in})
			if l.Named {
				named = append(named, decision{l.Alone, !l.in})
			}
		}
		if l.MayFollow && !l.in {
			leaving = append(leaving, l.After)
		}
		if l.MayRefuse {
			out = append(out, decision{-l.Refuse, l.in})
		}
	}
	return subject.Sure{In: provenFrom(in, fewWrong), Named: provenFrom(named, len(named)), After: fits(leaving), Out: -provenFrom(out, fewWrong)}
}

// fits returns the score from which on a follow-up fits its exchange, from the scores of those that
// leave the topic: one of five of them may reach it. It serves only when no judge answers; with
// hardly any such lines nothing fits.
func fits(leaving []float64) float32 {
	if len(leaving) < subject.FewestExamples {
		return float32(math.Inf(1))
	}
	slices.Sort(leaving)
	return float32(max(leaving[len(leaving)-1-len(leaving)/5], leastAfter))
}

// A decision is what code would decide of a line from a score on, and whether that is wrong.
type decision struct {
	score float64
	wrong bool
}

// provenFrom returns the lowest score from which on so few decisions are wrong that it is hardly
// chance; infinity if there is none.
func provenFrom(all []decision, most int) float32 {
	slices.SortStableFunc(all, func(a, b decision) int { return cmp.Compare(b.score, a.score) })
	from, wrong := math.Inf(1), 0
	for i, d := range all {
		if d.score < least {
			break
		}
		if d.wrong {
			wrong++
		}
		n := i + 1
		if n < len(all) && all[n].score == d.score {
			continue // they are decided together
		}
		if _, high := scoring.Wilson(wrong, n); high <= mostWrong && wrong <= most {
			from = d.score
		}
	}
	return float32(from + room)
}

const (
	// room is added to a proven score, as new writers differ more than those of the lines.
	room = 0.1
	// least is the least score of a sure decision.
	least = 0.5
	// leastAfter is the least score of a follow-up that fits.
	leastAfter = 0.5
)

// folds puts lines into parts of about the same size, so that all lines of a group, or of a writer,
// are in one part. It returns the part of each line.
func folds(lines []subject.Line, parts int) []int {
	sizes := make(map[string]int)
	for _, l := range lines {
		sizes[groupOf(l)]++
	}
	groups := make([]string, 0, len(sizes))
	for group := range sizes {
		groups = append(groups, group)
	}
	slices.SortFunc(groups, func(a, b string) int { return cmp.Or(cmp.Compare(sizes[b], sizes[a]), cmp.Compare(a, b)) })
	part, filled := make(map[string]int), make([]int, parts)
	for _, group := range groups { // the largest first, each into the emptiest part
		least := 0
		for i, n := range filled {
			if n < filled[least] {
				least = i
			}
		}
		part[group] = least
		filled[least] += sizes[group]
	}
	out := make([]int, len(lines))
	for i, l := range lines {
		out[i] = part[groupOf(l)]
	}
	return out
}

// groupOf returns what a line has in common with others that are left out with it.
func groupOf(l subject.Line) string {
	switch {
	case l.Group != "":
		return "group " + l.Group
	case l.By != "" && l.By != OwnFile:
		return "by " + l.By
	}
	return "text " + l.Text
}
