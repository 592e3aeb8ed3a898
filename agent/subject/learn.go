package subject

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"molar/internal/text"
)

// The sizes of the tables, in bits: of the built-in topic, and of one trained from some hundred
// examples when the program starts.
const (
	tableBits    = 20
	ownTableBits = 16
	// answerBits is the size of the table of answers.
	answerBits = 17
)

// Training parameters, chosen by cross-validation over the writers of the lines.
const (
	decay     = 6e-3
	epochs    = 5
	fewEpochs = 12  // of some hundred examples, and of answers
	favour    = 1.5 // an example of the topic: to refuse it is the worse mistake
	asTask    = 0.5 // a task outside every topic, among a topic's own examples
)

// A Lesson is a training example.
type Lesson struct {
	Example
	Weight float64
	// Forms are other ways to write it, with their weights.
	Forms map[string]float64
}

// TrainGuard trains a classifier for a topic and returns it in the form that [Topic.Weights] takes.
// The table of answers is trained from told: parts of answers, and questions. The same input gives
// the same bytes on the same architecture.
func TrainGuard(lessons, told []Lesson, sure Sure) (string, error) {
	if len(lessons) == 0 || len(told) == 0 {
		return "", errors.New("there is nothing to learn from")
	}
	m := learn(lessons, tableBits, epochs)
	m.Sure, m.answers = sure, learnAnswers(told)
	return m.encode(), nil
}

// learnOwn trains from a topic's own examples. Each fifth is held out once, so that the thresholds
// of sure decisions lie beyond the mistakes on unseen messages, with a margin.
func (g *Guard) learnOwn() *model {
	g.exampled = make(vocabulary)
	for _, e := range g.topic.Examples {
		if !e.InDomain {
			continue
		}
		words, heavy := g.read(e.Text).heavy()
		for _, i := range heavy {
			g.exampled.add(words[i : i+1])
		}
	}
	const parts = 5
	var in, after, out []float64 // the scores of the mistakes among sure decisions
	for part := range parts {
		var kept, held []Example
		for i, e := range g.topic.Examples {
			if i%parts == part {
				held = append(held, e)
			} else {
				kept = append(kept, e)
			}
		}
		m := learnFew(kept)
		for _, e := range held {
			r := g.read(e.Text)
			s := score(m, r)
			switch {
			case r.other || r.long || r.marker.name != "":
			case e.InDomain && r.needs != AboutTalk && !greets(r.words):
				out = append(out, -s.plain)
			case e.InDomain:
			case !e.Follows() && g.admits(r):
				in = append(in, s.alone)
			case e.Follows() && r.needs == FollowUp:
				after = append(after, s.after)
			}
		}
	}
	m := learnFew(g.topic.Examples)
	m.followUps = slices.ContainsFunc(g.topic.Examples, func(e Example) bool { return e.InDomain && e.Follows() })
	m.Sure = Sure{g.beyond(in), g.beyond(after), -g.beyond(out)}
	return m
}

// beyond returns a score beyond the mistakes, except for one odd example in every few hundred.
func (g *Guard) beyond(mistakes []float64) float32 {
	slices.Sort(mistakes)
	worst := len(mistakes) - 1 - len(g.topic.Examples)/oddOne
	if worst < 0 {
		return least
	}
	return float32(max(least, mistakes[worst]*room))
}

// learnFew trains from some hundred examples, and from tasks outside every topic.
func learnFew(examples []Example) *model {
	var lessons []Lesson
	for _, e := range examples {
		lessons = append(lessons, own(e))
	}
	for _, s := range sections("tasks.txt") {
		for _, task := range s.List() {
			l := own(Example{Text: task})
			l.Weight = asTask
			lessons = append(lessons, l)
		}
	}
	return learn(lessons, ownTableBits, fewEpochs)
}

// own returns the lesson of a custom topic's example, as written and without marks.
func own(e Example) Lesson {
	l := Lesson{Example: e, Weight: 1}
	if folded := text.Fold(e.Text); folded != strings.ToLower(e.Text) {
		l.Forms = map[string]float64{folded: 1}
	}
	return l
}

// learn fits a classifier. It reads every form of every lesson: a follow-up as following an
// exchange, and also alone if it is off topic even there.
func learn(lessons []Lesson, bits, epochs int) *model {
	var all []sample
	add := func(l Lesson, form string, weight float64) {
		clean, _, _ := normalise(form)
		words := wordsOf(clean)
		if l.InDomain {
			weight *= favour
		}
		if !l.Follows() || !l.InDomain {
			all = append(all, sample{Features: alone(words), In: l.InDomain, Weight: weight})
		}
		if l.Follows() {
			all = append(all, sample{Features: behind(alone(words)), In: l.InDomain, Weight: weight})
		}
	}
	for _, l := range lessons {
		add(l, l.Text, l.Weight)
		for _, form := range slices.Sorted(maps.Keys(l.Forms)) {
			add(l, form, l.Forms[form])
		}
	}
	return &model{Table: fit(all, bits, epochs, decay)}
}

// learnAnswers fits the classifier of whether a part of an answer keeps to the topic.
func learnAnswers(lessons []Lesson) Table {
	var all []sample
	for _, l := range lessons {
		forms := map[string]float64{l.Text: l.Weight}
		maps.Copy(forms, l.Forms)
		for _, form := range slices.Sorted(maps.Keys(forms)) {
			clean, _, _ := normalise(form)
			all = append(all, sample{Features: plain(wordsOf(clean)), In: l.InDomain, Weight: forms[form]})
		}
	}
	return fit(all, answerBits, fewEpochs, decay)
}

const (
	least  = 0.9 // score of a sure decision
	room   = 1.1
	oddOne = 600
)
