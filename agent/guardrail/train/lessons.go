package main

import (
	"math/rand/v2"
	"strings"

	"molar/agent/guardrail"
	"molar/agent/language"
	"molar/agent/linear"
	"molar/agent/topic"
	"molar/internal/text"
)

// What lessons count that were made from others.
const (
	mistyped = 0.5
	composed = 0.1
	asName   = 0.1 // a name of the topic, learned as an example
	asTold   = 0.3 // a part of an answer of the topic; those of other subjects count as much in all
)

// lessons makes of every example one as it stands, one without marks, and two with typing
// mistakes; then messages put together, and the names of the topic.
func lessons(t topic.Topic, examples []topic.Example) []guardrail.Lesson {
	var out []guardrail.Lesson
	chance := rand.New(rand.NewPCG(2, 2)) //nolint:gosec // the same lessons every time
	for _, e := range examples {
		l := guardrail.Lesson{Example: e, Weight: 1, Forms: make(map[string]float64)}
		folded := text.Fold(e.Text)
		l.Forms[linear.Mistype(chance, e.Text)] = mistyped
		l.Forms[linear.Mistype(chance, folded)] = mistyped
		if folded != strings.ToLower(e.Text) {
			l.Forms[folded] = 1
		}
		out = append(out, l)
	}
	for i, e := range compose(chance, examples) { // every second one without marks
		if i%2 == 0 {
			e.Text = text.Fold(e.Text)
		}
		out = append(out, guardrail.Lesson{Example: e, Weight: composed, Made: true})
	}
	for _, name := range t.Phrases.Names {
		name = linear.Mistype(chance, text.Fold(strings.TrimSuffix(name, "*")))
		out = append(out, guardrail.Lesson{Example: topic.Example{Text: name, InDomain: true}, Weight: asName, Made: true})
	}
	return out
}

// links join two requests into one message.
func links(lang string) []string {
	if lang == language.Vietnamese {
		return []string{". ", ", ", " và ", ". Tiện thể ", ", còn ", " rồi ", ". À ", ", nhân tiện ", "? ", "\n", ", xong thì ", ". Ngoài ra ", " - "}
	}
	return []string{". ", ", ", " and ", ". Also, ", ", then ", ". P.S. ", "? ", ". By the way, ", "\n", ", but first ", "; ", " and after that ", " - "}
}

// compose puts pairs of examples together: a question of the topic with another
// request is none of the topic, two questions of the topic are. Such messages are what
// people try, and what labelled lines never hold enough of.
func compose(chance *rand.Rand, examples []topic.Example) []topic.Example {
	pools := map[string][]topic.Example{}
	for _, e := range examples {
		if e.InDomain && !e.Follows() && e.Kind != "greeting" {
			pools[e.Lang] = append(pools[e.Lang], e)
		}
	}
	var out []topic.Example
	for _, e := range examples {
		pool := pools[e.Lang]
		if len(pool) == 0 || e.Kind == "greeting" || e.Kind == "adversarial" || e.Follows() && e.InDomain {
			continue
		}
		if e.InDomain && chance.IntN(2) == 0 {
			continue
		}
		first, second := pool[chance.IntN(len(pool))].Text, e.Text
		if chance.IntN(3) == 0 {
			first, second = second, first
		}
		link := links(e.Lang)[chance.IntN(len(links(e.Lang)))]
		out = append(out, topic.Example{Text: first + link + second, Lang: e.Lang, InDomain: e.InDomain, Kind: "composed"})
	}
	return out
}
