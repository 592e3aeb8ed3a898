package guardrail

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// An Explanation is a verdict and the steps that led to it, in order.
type Explanation struct {
	Text    string  `json:"text"`
	Topic   string  `json:"topic"`
	Verdict Verdict `json:"verdict"`
	Steps   []Step  `json:"steps"`
}

// A Step is what one stage of the cascade saw or decided, for people.
type Step struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// Explain decides as [Guard.Decide] does and tells every step of it.
func (g *Guard) Explain(ctx context.Context, q Question, judge Judge) Explanation {
	g.Prepare()
	r := g.read(q.Text)
	alone, after := g.score(r)
	e := Explanation{Text: q.Text, Topic: g.topic.Name}
	add := func(name, format string, args ...any) {
		e.Steps = append(e.Steps, Step{name, fmt.Sprintf(format, args...)})
	}
	add("normalised", "%q, %d words", clip(r.text, maxAnswer), len(r.words))
	add("language", "%s, sure %v", q.Lang, !q.AskLanguage)
	add("greeting", "%v", len(r.words) > 0 && g.isGreeting(r.words))
	add("injection", "%s", orNone(r.marker))
	add("phrases", "%s", g.phrasesIn(r))
	if w := g.weights; w != nil {
		add("classifier", "%.2f alone, %.2f behind an exchange; sure from %.2f and %.2f on, or below %.2f", alone, after, w.sureIn, w.sureAfter, w.sureOut)
	} else {
		add("classifier", "none; the phrases come to %.2f", alone)
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

// phrasesIn lists the phrases that were found, by tier.
func (g *Guard) phrasesIn(r reading) string {
	found := map[tier][]string{}
	for i := 0; i < len(r.words); {
		p := g.phrases.longest(r.words[i:])
		if p == nil {
			i++
			continue
		}
		found[p.tier] = append(found[p.tier], joinWords(r.words[i:i+len(p.words)]))
		i += len(p.words)
	}
	var parts []string
	for _, t := range slices.Sorted(maps.Keys(found)) {
		parts = append(parts, t.String()+": "+strings.Join(found[t], ", "))
	}
	return orNone(strings.Join(parts, "; "))
}

// String names the tier as the fields of [Topic] do.
func (t tier) String() string {
	switch t {
	case tierAdmit:
		return "admit"
	case tierRelated:
		return "related"
	case tierWeak:
		return "weak"
	case tierAdjacent:
		return "adjacent"
	case tierForeign:
		return "foreign"
	case tierTask:
		return "task"
	}
	return "neutral"
}

func joinWords(words []word) string {
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = w.raw
	}
	return strings.Join(texts, " ")
}

func passes(pass bool) string {
	if pass {
		return "pass"
	}
	return "refuse"
}

func orNone(text string) string {
	if text == "" {
		return "none"
	}
	return text
}
