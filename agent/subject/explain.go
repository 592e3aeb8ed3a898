package subject

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"strings"
)

// An Explanation is a verdict and the steps that led to it, in order.
type Explanation struct {
	Text    string  `json:"text"`
	Topic   string  `json:"topic"`
	Verdict Verdict `json:"verdict"`
	Steps   []Step  `json:"steps"`
}

// A Step is what one stage of the cascade found or decided, in words for people.
type Step struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// Explain decides like [Guard.Decide] and returns every step.
func (g *Guard) Explain(ctx context.Context, q Question, judge Judge) Explanation {
	g.Prepare()
	r := g.read(q.Text)
	s := score(g.model, r, r.burden(q.Last))
	e := Explanation{Text: q.Text, Topic: g.topic.Name}
	add := func(name, format string, args ...any) {
		e.Steps = append(e.Steps, Step{name, fmt.Sprintf(format, args...)})
	}
	add("normalised", "%q, %d words", clip(r.text, maxAnswer), len(r.words))
	add("language", "%s, sure %v", q.Lang, !q.AskLanguage)
	add("greeting", "%v", len(r.words) > 0 && greets(r.words))
	add("injection", "%s", cmp.Or(r.marker.name, "none"))
	add("names", "%s", namesIn(r))
	add("needs", "%s", r.needs)
	if m := g.model; m != nil {
		add("classifier", "%.2f alone, %.2f behind an exchange; sure from %s on, if it names the topic from %s on, or below %s", s.alone, s.after, threshold(m.In), threshold(min(m.In, m.Named)), threshold(m.Out))
	} else {
		add("classifier", "none: the names of the topic decide")
	}
	quick := g.Quick(q.Text)
	add("code", "%s, sure %v: %s", passes(quick.Pass), quick.Sure, quick.Reason)
	e.Verdict = g.Decide(ctx, q, judge)
	if e.Verdict.By != "code" {
		add("judge", "%s", e.Verdict.Reason)
	}
	add("verdict", "%s, by %s: %s", passes(e.Verdict.Pass), e.Verdict.By, e.Verdict.Reason)
	return e
}

// threshold words the score of sure decisions; an infinite one was not proven by any lines.
func threshold(score float32) string {
	if math.IsInf(float64(score), 0) {
		return "no score"
	}
	return fmt.Sprintf("%.2f", score)
}

// namesIn returns the words that name the topic.
func namesIn(r reading) string {
	var names []string
	for i, w := range r.words {
		if r.names[i] {
			names = append(names, w.Raw)
		}
	}
	return cmp.Or(strings.Join(names, ", "), "none")
}

func passes(pass bool) string {
	if pass {
		return "pass"
	}
	return "refuse"
}
