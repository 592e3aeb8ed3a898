package learn

import (
	"math/rand/v2"
	"slices"
	"strings"

	"molar/agent/subject"
	"molar/agent/subject/scoring"
	"molar/internal/text"
)

// The weights of lessons that are no lines, and of the forms of a line, relative to the line.
const (
	asName   = 0.3 // a name of the topic
	mistyped = 0.5 // a line with typing mistakes
	// favour is the weight of what belongs to the topic, relative to what does not: to refuse a
	// person is the worse mistake.
	favour = 1.1
)

// A lesson is a message to learn from, in the forms that people may write it in.
type lesson struct {
	text        string
	in, follows bool
	weight      float64
	// last is the exchange that it follows; nil for none.
	last  *subject.Exchange
	forms []form
	// of is the part of the lines that it was made from, or notLeft if it is never left out.
	of int
}

// notLeft is the part of lessons that were made from no line.
const notLeft = -1

// A form is one way to write a message: its features, alone and behind an exchange, and its share of
// the lesson's weight.
type form struct {
	first, after []subject.Feature
	share        float64
}

// lessonOf returns the lesson of a labelled line: as it is written, without marks, and twice with
// typing mistakes.
func lessonOf(g *subject.Guard, l subject.Line, chance *rand.Rand) lesson {
	e := l.Example()
	out := lesson{of: notLeft, text: l.Text, in: e.InDomain, follows: e.Follows(), weight: weightOf(l), last: scoring.Last(g, e)}
	folded := text.Fold(l.Text)
	out.add(g, l.Text, 1)
	if folded != strings.ToLower(l.Text) {
		out.add(g, folded, 1)
	}
	out.add(g, mistype(chance, l.Text), mistyped)
	out.add(g, mistype(chance, folded), mistyped)
	return out
}

// lessonsOf returns the lessons of labelled lines: the same ones every time.
func lessonsOf(g *subject.Guard, lines []subject.Line, seed uint64) []lesson {
	chance := rand.New(rand.NewPCG(seed, seed)) //nolint:gosec // the same lessons every time
	out := make([]lesson, len(lines))
	for i, l := range lines {
		out[i] = lessonOf(g, l, chance)
	}
	return out
}

// lessonsOfNames returns the names of a topic as lessons.
func lessonsOfNames(g *subject.Guard) []lesson {
	var out []lesson
	for _, name := range g.Topic().Phrases.Names {
		l := lesson{of: notLeft, in: true, weight: asName}
		l.add(g, strings.TrimSuffix(name, "*"), 1)
		out = append(out, l)
	}
	return out
}

func (l *lesson) add(g *subject.Guard, text string, share float64) {
	f := form{share: share}
	first, after := g.Features(text, l.last)
	if !l.in || !l.follows { // a follow-up of the topic says nothing by itself
		f.first = first
	}
	if l.follows {
		f.after = after
	}
	l.forms = append(l.forms, f)
}

// total returns the weight of all lessons of a label.
func total(lessons []lesson, in bool) (sum float64) {
	for _, l := range lessons {
		if l.in == in {
			sum += l.weight
		}
	}
	return sum
}

// Shares of the weight of a topic's own lines of a label that lessons have at most in all, which are
// made for every topic.
const (
	mostGeneral      = 1.0 // of messages of other subjects
	mostPleasantries = 0.15
	mostDressed      = 0.3
)

// atMost scales the weights of lessons of each label, so that they have at most a share of the weight
// of a topic's own: what every topic learns never drowns thirty lines of one.
func atMost(share float64, lessons, own []lesson) []lesson {
	scaled := slices.Clone(lessons)
	for _, in := range []bool{true, false} {
		whole, most := total(lessons, in), share*total(own, in)
		if whole <= most {
			continue
		}
		for i := range scaled {
			if scaled[i].in == in {
				scaled[i].weight *= most / whole
			}
		}
	}
	return scaled
}

// balance returns the samples of lessons. What belongs has the same weight in all as what does not,
// but for the favour: so a thousand lines of either kind never drown thirty of the other.
func balance(lessons []lesson) []sample {
	in, out := total(lessons, true), total(lessons, false)
	asIn, asOut := (in+out)/2/max(in, 1)*favour, (in+out)/2/max(out, 1)
	var all []sample
	for _, l := range lessons {
		weight := asOut
		if l.in {
			weight = asIn
		}
		for _, f := range l.forms {
			for _, features := range [][]subject.Feature{f.first, f.after} {
				if features != nil {
					all = append(all, sample{features: features, in: l.in, weight: l.weight * f.share * weight})
				}
			}
		}
	}
	return all
}

func weightOf(l subject.Line) float64 {
	if l.Weight == 0 {
		return 1
	}
	return l.Weight
}
