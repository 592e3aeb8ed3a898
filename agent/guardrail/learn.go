package guardrail

import (
	"fmt"
	"math"
	"strings"

	"molar/agent/language"
)

// An Example is one labelled message.
type Example struct {
	Text string `json:"text"`
	// Lang is "vi" or "en"; of mixed text, the language that carries the sentence.
	Lang     string `json:"lang,omitempty"`
	InDomain bool   `json:"in_domain"`
	// Kind names a slice of the examples, such as "plain" or "typo". A kind that begins
	// with "follow" means a message that was sent after an exchange on the topic.
	Kind string `json:"kind,omitempty"`
}

// Follows reports whether the example was sent after an exchange on the topic.
func (e Example) Follows() bool { return strings.HasPrefix(e.Kind, "follow") }

// How many examples of each label a topic should have. Below the fewest, code learns
// nothing from them and every message that no phrase decides goes to the judge; from
// about as many as wanted on, code decides the plain cases alone.
const (
	FewestExamples = 20
	WantedExamples = 60
)

// Numbers of the training, chosen by cross-validation without the test part.
const (
	epochs    = 12
	rate      = 0.5
	decay     = 6e-3
	smallest  = 1e-8
	foldedAs  = 1.0 // what an example counts without its marks
	mistyped  = 0.5 // with a typing mistake
	asPhrase  = 0.1 // a phrase of the lexicon, learned as an example
	afterHalf = 0.5 // read after an exchange
	favour    = 1.5 // an example of the topic
)

// Learn trains a classifier for a topic and returns it in the form that
// [Topic.Weights] takes. train is learned; held, which must share no question with
// it, sets the scores from which on code is sure. The same input gives the same bytes
// on the same architecture.
func Learn(topic Topic, train, held []Example) (string, error) {
	topic.Weights, topic.Examples = "", nil
	g, err := New(Config{Topic: topic})
	if err != nil {
		return "", err
	}
	if len(train) == 0 || len(held) == 0 {
		return "", fmt.Errorf("topic %q: there is nothing to learn from, or nothing to check against", topic.Name)
	}
	g.Prepare()
	w := g.learn(train, true)
	w.calibrate(g.scores(w, held))
	return w.encode(), nil
}

// learnOwn trains from a topic's own examples. Each fifth is held back once, so that
// the scores from which on code is sure come from messages it had not seen.
func (g *Guard) learnOwn() *weights {
	const parts = 5
	var seen []scored
	for part := range parts {
		var train, held []Example
		for i, e := range g.topic.Examples {
			if i%parts == part {
				held = append(held, e)
				continue
			}
			train = append(train, e)
		}
		w := g.learn(train, false)
		seen = append(seen, g.scores(w, held)...)
	}
	w := g.learn(g.topic.Examples, false)
	w.calibrate(seen)
	return w
}

// A sample is an example ready to be learned.
type sample struct {
	features []feature
	in       bool
	weight   float64
}

// learn fits a logistic regression by stochastic gradient descent with a step size
// of its own for each bucket.
func (g *Guard) learn(examples []Example, withPhrases bool) *weights {
	seen := newCensus(examples)
	samples := g.samples(examples, seen, withPhrases)
	table, slopes := make([]float64, tableSize), make([]float64, tableSize)
	order := newGenerator(1)
	for range epochs {
		order.shuffle(samples)
		for _, s := range samples {
			step(table, slopes, s)
		}
	}
	w := quantise(table)
	w.vocabulary = seen.vocabulary()
	return w
}

func step(table, slopes []float64, s sample) {
	var sum float64
	for _, f := range s.features {
		sum += table[f.bucket] * float64(f.value)
	}
	want := 0.0
	if s.in {
		want = 1
	}
	slope := (1/(1+math.Exp(-sum)) - want) * s.weight
	for _, f := range s.features {
		gradient := slope*float64(f.value) + decay*table[f.bucket]
		slopes[f.bucket] += gradient * gradient
		table[f.bucket] -= rate * gradient / (math.Sqrt(slopes[f.bucket]) + smallest)
	}
}

// quantise rounds the weights to signed bytes.
func quantise(table []float64) *weights {
	most := 1e-6
	for _, v := range table {
		most = max(most, math.Abs(v))
	}
	bytes := make([]byte, len(table))
	for i, v := range table {
		bytes[i] = byte(int8(math.Round(v / most * math.MaxInt8)))
	}
	return &weights{scale: float32(most / math.MaxInt8), table: string(bytes)}
}

// samples reads every example as it stands, without marks, and with typing mistakes;
// each alone and after an exchange, as which alone a follow-up is read. With phrases, the
// lexicon's are learned as weak examples, mistyped too.
func (g *Guard) samples(examples []Example, seen census, withPhrases bool) []sample {
	var out []sample
	noise := newGenerator(2)
	add := func(text string, e Example, weight float64) {
		alone, after := g.read(text).features(func(h uint32) bool { return seen[h] > 0 })
		share := afterHalf
		if e.Follows() {
			share = 1
		}
		if !e.Follows() || !e.InDomain {
			out = append(out, sample{alone, e.InDomain, weight * inFavourOf(e)})
		}
		out = append(out, sample{after, e.InDomain, weight * share * inFavourOf(e)})
	}
	for _, e := range examples {
		folded := language.Fold(e.Text)
		own := splitWords(e.Text)
		if e.InDomain { // its own words must be no news of it
			seen.add(own, -1)
		}
		add(e.Text, e, 1)
		if folded != strings.ToLower(e.Text) {
			add(folded, e, foldedAs)
		}
		add(noise.mistype(e.Text), e, mistyped)
		add(noise.mistype(folded), e, mistyped)
		if e.InDomain {
			seen.add(own, 1)
		}
	}
	for i, e := range compose(examples) { // every second one without marks
		if i%2 == 0 {
			e.Text = language.Fold(e.Text)
		}
		add(e.Text, e, composedAs)
	}
	t := g.topic
	if !withPhrases {
		return out
	}
	for i, phrases := range [][]string{t.Admit, t.Related, t.Foreign, t.Tasks} {
		weight := asPhrase
		if i > 0 {
			weight = asPhrase / 2
		}
		for _, p := range phrases {
			add(noise.mistype(language.Fold(strings.TrimSuffix(p, "*"))), Example{InDomain: i < 2}, weight)
		}
	}
	return out
}

// inFavourOf weighs an example: to refuse a question of the topic is the worse mistake.
func inFavourOf(e Example) float64 {
	if e.InDomain {
		return favour
	}
	return 1
}
