package offline

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"molar/schemas"
)

// Threshold is the score below which a tool is never called. Scores have no upper
// limit; a tool whose name and arguments a question fits has 1.5 to 4.
const Threshold = 1.0

// A Score says how well a tool suits a question, and why.
type Score struct {
	Tool  string // the offered name
	Score float64
	Why   string // matched words and corrections, for people
}

// Rank scores tools for a question by their words alone, best first; equal scores
// keep the order of tools. It calls no model and never fails.
func Rank(question string, tools []schemas.ToolInfo) []Score {
	ranked := rank(readQuestion(question, time.Unix(0, 0).UTC()), indexTools(tools))
	scores := make([]Score, len(ranked))
	for i, c := range ranked {
		scores[i] = c.Score
	}
	return scores
}

// A candidate is a tool with its score and the arguments found for it.
type candidate struct {
	Score
	tool    *indexed
	filling *filling
}

func rank(q *question, tools []indexed) []candidate {
	idf := rarity(tools)
	out := make([]candidate, len(tools))
	for i := range tools {
		out[i] = scoreTool(q, &tools[i], idf)
	}
	slices.SortStableFunc(out, func(a, b candidate) int {
		switch {
		case a.Score.Score > b.Score.Score:
			return -1
		case a.Score.Score < b.Score.Score:
			return 1
		}
		return 0
	})
	return out
}

func scoreTool(q *question, t *indexed, idf func(string) float64) candidate {
	c := candidate{tool: t, filling: fill(q, t.fields, t.called)}
	c.Tool = t.info.Name
	subject, verbs, matched := overlap(q, t, idf)
	var why []string
	note := func(v float64, format string, args ...any) float64 {
		if math.Abs(v) > 0.005 {
			why = append(why, fmt.Sprintf("%+.2f ", v)+fmt.Sprintf(format, args...))
		}
		return v
	}
	total := note(subject+verbs, "words %s", strings.Join(matched, ", "))
	total += note(0.9*coverage(q, t, idf), "share of the name")
	total += note(verbFit(q, t), "verb")
	total += note(argumentFit(q, c.filling), "arguments")
	if q.plural == t.plural && t.plural {
		total += note(0.1, "plural")
	}
	// Values of a particular kind that the tool demands speak for its subject too.
	if subject+0.3*min(c.filling.particular, 1) < minSubject {
		total = min(total, Threshold/2)
		why = append(why, "no word of its subject is said")
	}
	c.Score.Score = math.Round(total*1000) / 1000
	c.Why = strings.Join(why, "; ")
	return c
}

// minSubject is how much of a tool's subject a question must name: about one word
// of its name or two of its description. A verb alone ("find", "write") is no reason
// to call anything.
const minSubject = 0.42

// overlap adds up the words that the question and the tool share: those that name
// things, and those that name actions or qualify. A key counts once.
func overlap(q *question, t *indexed, idf func(string) float64) (subject, others float64, matched []string) {
	best := map[string]float64{}
	for _, term := range q.terms {
		key, worth := "", 0.0
		for _, k := range term.keys {
			if w := t.weight[k] * keyWeight(k, idf); w > worth {
				key, worth = k, w
			}
		}
		if worth > best[key] {
			best[key] = worth
			words := q.text[q.tokens[term.from].start:q.tokens[term.to-1].end]
			matched = append(matched, fmt.Sprintf("%q %.2f", words, worth))
		}
	}
	for _, k := range q.hints {
		if w := 0.7 * t.weight[k] * keyWeight(k, idf); w > best[k] {
			best[k] = w
			matched = append(matched, fmt.Sprintf("%s %.2f", k[1:], w))
		}
	}
	qualifiers := 0.0
	for _, k := range slices.Sorted(maps.Keys(best)) { // sums of floats depend on their order
		w := best[k]
		switch {
		case k != "" && k[0] == '=' && t.known[k]:
			qualifiers += w
		case k == "":
		case k[0] == '!' && words().groups[k] == "do" && t.known[k]:
			subject += w // to translate or to calculate is a subject of its own
		case k[0] == '!' || k[0] == '=':
			others += w
		default:
			subject += w
		}
	}
	if subject > 0 {
		subject += qualifiers // "unread" says nothing, "unread messages" does
	} else {
		others += qualifiers
	}
	return min(subject, 3), min(others, 0.9), matched
}

// keyWeight is what a key tells: a rare one more than one that all tools share, a thing
// more than an action or a qualifier.
func keyWeight(key string, idf func(string) float64) float64 {
	w := 0.35 + 0.65*idf(key)
	switch key[0] {
	case '!':
		return 0.6 * w
	case '=':
		return 0.7 * w
	}
	return w
}

// coverage is how much of the tool's name the question says. A word of the question
// covers one word of the name only.
func coverage(q *question, t *indexed, idf func(string) float64) float64 {
	said, all := 0.0, 0.0
	used := map[int]bool{}
	for _, name := range t.name {
		weight, hit, by := 0.0, 0.0, -1
		for _, k := range name.keys {
			w := keyWeight(k, idf)
			weight = max(weight, w)
			if name.own != "" && name.own != k && k[0] != '!' {
				w *= kindred
			}
			if i := q.saidAt(k, used); i >= 0 && w > hit {
				hit, by = w, i
			}
		}
		used[by] = by >= 0
		all += weight
		said += hit
	}
	if all == 0 {
		return 0
	}
	return said / all
}

// saidAt returns which term of the question has the key, after the terms the hints; -1
// if none that is free.
func (q *question) saidAt(key string, used map[int]bool) int {
	for i, t := range q.terms {
		if !used[i] && t.has(key) {
			return i
		}
	}
	if i := slices.Index(q.hints, key); i >= 0 && !used[len(q.terms)+i] {
		return len(q.terms) + i
	}
	return -1
}

func (q *question) says(key string) bool {
	return slices.ContainsFunc(q.terms, func(t term) bool { return t.has(key) }) || slices.Contains(q.hints, key)
}

// verbFit compares what the question wants done with what the tool does.
func verbFit(q *question, t *indexed) float64 {
	if len(t.verbs) == 0 {
		return 0
	}
	wanted := q.verbs()
	if len(wanted) == 0 {
		if changes(t.verbs) {
			if q.asks {
				return -0.6
			}
			return -0.3
		}
		return 0.05
	}
	if shares(wanted, t.verbs) {
		return 0.25
	}
	if shares(wanted, t.alsoVerbs) && changes(wanted) == changes(t.verbs) {
		return 0.15
	}
	groups := words().groups
	for _, w := range wanted {
		for _, v := range t.verbs {
			if groups[w] == groups[v] && groups[w] != "do" {
				return 0
			}
		}
	}
	switch {
	case changes(t.verbs):
		return -0.7
	case changes(wanted):
		return -0.5
	}
	return -0.15
}

// changes reports whether every verb alters something.
func changes(verbs []string) bool {
	groups := words().groups
	return !slices.ContainsFunc(verbs, func(v string) bool { return groups[v] == "read" || groups[v] == "do" })
}

// argumentFit rewards typed values that fill required fields, and punishes required
// fields that nothing fits and particular values that the tool has no place for.
func argumentFit(q *question, f *filling) float64 {
	fit := min(0.35*f.evidence, 0.7)
	lost := 0.0
	for _, fd := range f.missing {
		switch fd.role {
		case wantsID, wantsNumber, wantsEmail, wantsURL, wantsPath, wantsDate, wantsMoment, wantsCurrency:
			lost += 0.3
		default:
			lost += 0.1
		}
	}
	fit -= min(lost, 0.6)
	for i, m := range q.mentions {
		if m.strong() && !f.used[i] {
			return fit - 0.3
		}
	}
	for i, m := range q.mentions {
		if m.kind == isDate && !m.weak && !f.used[i] {
			return fit - 0.15
		}
	}
	return fit
}
