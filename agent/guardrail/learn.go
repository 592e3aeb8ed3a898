package guardrail

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"molar/agent/linear"
	"molar/agent/topic"
	"molar/internal/text"
)

// The sizes of the tables, in bits: of the built-in topic, and of one that is learned
// from some hundred examples when the program starts.
const (
	tableBits    = 20
	ownTableBits = 16
	// answerBits is the size of the table of answers.
	answerBits = 17
)

// Numbers of the training, chosen by cross-validation.
const (
	decay     = 6e-3
	afterHalf = 0.5 // what an example counts, read behind an exchange
	favour    = 1.5 // an example of the topic: to refuse it is the worse mistake
	asTask    = 0.5 // a task that is none of any topic, beside a topic's own examples
)

// A Lesson is an example to learn.
type Lesson struct {
	topic.Example
	Weight float64
	// Forms are other ways to write it, and what they count.
	Forms map[string]float64
	// Made is set for a lesson that was made of others: its words are news of nothing.
	Made bool
}

// Train trains a classifier for a topic and returns it in the form that
// [topic.Topic.Weights] takes. told are parts of answers, which state what questions ask for. held, of which no line may be among the lessons, sets the
// scores from which on code is sure. The same input gives the same bytes on the same
// architecture.
func Train(t topic.Topic, lessons, told []Lesson, held []topic.Example) (string, error) {
	if len(lessons) == 0 || len(told) == 0 || len(held) == 0 {
		return "", fmt.Errorf("topic %q: there is nothing to learn from, or nothing to check against", t.Name)
	}
	m := learn(lessons, tableBits, true)
	m.answers = learnAnswers(slices.Concat(lessons, told))
	t.Weights, t.Examples = m.encode(), nil
	g, err := New(Config{Topic: t})
	if err != nil {
		return "", err
	}
	m.calibrate(g.judged(m, held))
	return m.encode(), nil
}

// learnOwn trains from a topic's own examples. Each fifth is held back once, so that
// the scores from which on code is sure come from messages it had not seen.
func (g *Guard) learnOwn() *model {
	const parts = 5
	var seen []judged
	for part := range parts {
		var kept, held []topic.Example
		for i, e := range g.topic.Examples {
			if i%parts == part {
				held = append(held, e)
			} else {
				kept = append(kept, e)
			}
		}
		seen = append(seen, g.judged(learnFew(kept), held)...)
	}
	m := learnFew(g.topic.Examples)
	m.calibrate(seen)
	return m
}

// learnFew trains from some hundred examples, and from tasks that are none of any topic.
func learnFew(examples []topic.Example) *model {
	var lessons []Lesson
	for _, e := range examples {
		lessons = append(lessons, own(e))
	}
	for _, s := range sections("tasks.txt") {
		for _, task := range s.List() {
			l := own(topic.Example{Text: task})
			l.Weight = asTask
			lessons = append(lessons, l)
		}
	}
	return learn(lessons, ownTableBits, false)
}

// own is an example of a topic of one's own, as written and without marks.
func own(e topic.Example) Lesson {
	l := Lesson{Example: e, Weight: 1}
	if folded := text.Fold(e.Text); folded != strings.ToLower(e.Text) {
		l.Forms = map[string]float64{folded: 1}
	}
	return l
}

// A census counts in how many examples of the topic each word and pair of words stands.
// As a vocabulary it knows the hash that is already folded.
type census map[uint32]int

func newCensus(lessons []Lesson) census {
	c := make(census)
	for _, l := range lessons {
		if l.InDomain && !l.Made {
			c.add(l.Text, 1)
		}
	}
	return c
}

func (c census) holds(hash uint32) bool { return c[linear.Bucket(hash, vocabularyBits)] > 0 }

func (c census) size() int { return len(c) }

func (c census) pack() bitSet {
	if c == nil {
		return ""
	}
	set := make([]byte, vocabularyBytes)
	for at, n := range c {
		if n > 0 {
			set[at>>3] |= 1 << (at & 7)
		}
	}
	return bitSet(set)
}

// add counts each term of a text once.
func (c census) add(message string, n int) {
	clean, _, _ := normalise(message)
	words := wordsOf(clean)
	seen := make(map[uint32]bool)
	count := func(hash uint32) {
		if at := linear.Bucket(hash, vocabularyBits); !seen[at] {
			seen[at] = true
			c[at] += n
		}
	}
	for i, w := range words {
		count(linear.Hash("term", w.Folded, ""))
		if i+1 < len(words) {
			count(linear.Hash("term", w.Folded, words[i+1].Folded))
		}
	}
}

// samples reads every form of every lesson alone and behind an exchange, a follow-up only
// so. What an example says itself is not known to it.
func samples(lessons []Lesson, known census) []linear.Sample {
	var out []linear.Sample
	for _, l := range lessons {
		own := known != nil && l.InDomain && !l.Made
		if own {
			known.add(l.Text, -1)
		}
		out = appendSamples(out, l, l.Text, l.Weight, known)
		for _, form := range slices.Sorted(maps.Keys(l.Forms)) {
			out = appendSamples(out, l, form, l.Forms[form], known)
		}
		if own {
			known.add(l.Text, 1)
		}
	}
	return out
}

func appendSamples(out []linear.Sample, l Lesson, form string, weight float64, known census) []linear.Sample {
	clean, _, _ := normalise(form)
	words := wordsOf(clean)
	share := afterHalf
	if l.InDomain {
		weight *= favour
	}
	if l.Follows() {
		share = 1
	}
	if !l.Follows() || !l.InDomain {
		out = append(out, linear.Sample{Features: alone(words, known), In: l.InDomain, Weight: weight})
	}
	return append(out, linear.Sample{Features: behind(words, known), In: l.InDomain, Weight: weight * share})
}

// learn fits a classifier. A few examples say nothing of which words are new.
func learn(lessons []Lesson, bits int, withVocabulary bool) *model {
	var known census
	if withVocabulary {
		known = newCensus(lessons)
	}
	return &model{Table: linear.Fit(samples(lessons, known), bits, decay), known: known.pack()}
}

// learnAnswers fits what tells whether a part of an answer keeps to the topic.
func learnAnswers(lessons []Lesson) linear.Table {
	var all []linear.Sample
	for _, l := range lessons {
		forms := map[string]float64{l.Text: l.Weight}
		maps.Copy(forms, l.Forms)
		for _, form := range slices.Sorted(maps.Keys(forms)) {
			clean, _, _ := normalise(form)
			all = append(all, linear.Sample{Features: alone(wordsOf(clean), bitSet("")), In: l.InDomain, Weight: forms[form]})
		}
	}
	return linear.Fit(all, answerBits, decay)
}

// judged is how a held-back example fared: its scores, and what code may be sure of.
type judged struct {
	scores
	in, follows bool
	// admits, leans and refuses say whether code may be sure that it is in, alone; in,
	// behind an exchange; out.
	admits, leans, refuses bool
}

func (g *Guard) judged(m *model, held []topic.Example) []judged {
	g.lists()
	out := make([]judged, len(held))
	for i, e := range held {
		r := g.read(e.Text)
		plain := !r.other && !r.long && r.marker.name == ""
		out[i] = judged{
			scores: score(m, r), in: e.InDomain, follows: e.Follows(),
			admits: plain && g.admits(r), leans: plain && r.needs == FollowUp,
			refuses: plain && r.needs != AboutTalk && !g.greets(r),
		}
	}
	return out
}

// calibrate sets the scores from which on code is sure: beyond the mistakes among the held
// examples, with room to spare. Of every few hundred examples one may be odd.
func (m *model) calibrate(held []judged) {
	var in, after, out []float64
	for _, j := range held {
		switch {
		case j.in && j.refuses:
			out = append(out, -j.plain)
		case j.in:
		case j.admits && !j.follows:
			in = append(in, j.alone)
		case j.leans && j.follows:
			after = append(after, j.after)
		}
	}
	beyond := func(mistakes []float64) float32 {
		slices.Sort(mistakes)
		worst := len(mistakes) - 1 - len(held)/oddOne
		if worst < 0 {
			return least
		}
		return float32(max(least, mistakes[worst]*room))
	}
	m.sureIn, m.sureAfter, m.sureOut = beyond(in), beyond(after), -beyond(out)
}

const (
	least  = 0.9 // score of a sure decision
	room   = 1.1
	oddOne = 600
)
