package main

import (
	"math/rand/v2"
	"strings"

	"molar/agent/guardrail"
	"molar/agent/linear"
	"molar/agent/topic"
	"molar/internal/text"
)

// What lessons count that were made from others.
const (
	mistyped = 0.5
	// asStranger is a line of somebody who had seen neither rules nor data.
	asStranger = 3
	asName     = 0.3 // a name of the topic, learned as an example
	asTold     = 0.3 // a part of an answer of the topic; those of other subjects count as much in all
)

// lessons makes of every example one as it stands, one without marks, and two with typing
// mistakes.
func lessons(examples []topic.Example, weight float64) []guardrail.Lesson {
	var out []guardrail.Lesson
	chance := rand.New(rand.NewPCG(2, 2)) //nolint:gosec // the same lessons every time
	for _, e := range examples {
		l := guardrail.Lesson{Example: e, Weight: weight, Forms: make(map[string]float64)}
		folded := text.Fold(e.Text)
		l.Forms[linear.Mistype(chance, e.Text)] = mistyped * weight
		l.Forms[linear.Mistype(chance, folded)] = mistyped * weight
		if folded != strings.ToLower(e.Text) {
			l.Forms[folded] = weight
		}
		out = append(out, l)
	}
	return out
}

// names are the names of the topic as lessons.
func names(t topic.Topic) []guardrail.Lesson {
	var out []guardrail.Lesson
	for _, name := range t.Phrases.Names {
		name = strings.TrimSuffix(name, "*")
		out = append(out, guardrail.Lesson{Example: topic.Example{Text: name, InDomain: true}, Weight: asName})
	}
	return out
}
