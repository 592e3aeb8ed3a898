package tape

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// The classes of drift.
const (
	DriftSystem      = "system"
	DriftMessages    = "messages"
	DriftSchema      = "tools.schema"
	DriftDescription = "tools.description"
	DriftConfig      = "config"
	DriftCallName    = "call.name"
	DriftCallArgs    = "call.args"
	DriftCallMissing = "call.missing"
	DriftCallExtra   = "call.extra"
	DriftCallOrder   = "call.order"
	DriftGuardrail   = "guardrail"
	DriftResult      = "result"
	DriftAnswer      = "answer"
	// DriftModelExtra is a model call that the tape does not have.
	DriftModelExtra = "model.extra"
	// DriftUnconsumed is a part of the tape that nobody asked for.
	DriftUnconsumed = "unconsumed"
)

// A Drift is one difference between a tape and its replay.
type Drift struct {
	Class string `json:"class"`
	Turn  int    `json:"turn"`
	// Line is where the tape has its part.
	Line int `json:"line"`
	// Where names the place, Want what the tape has and Got what the replay had.
	Where string `json:"where"`
	Want  string `json:"want,omitempty"`
	Got   string `json:"got,omitempty"`
	// Rule and Tier tell how a changed tool breaks its callers, where that is known.
	Rule string `json:"rule,omitempty"`
	Tier string `json:"tier,omitempty"`
}

// rank orders drifts; those at the first place are the cause of the others.
func rank(drifts []Drift) (causes, follows []Drift) {
	slices.SortStableFunc(drifts, func(a, b Drift) int {
		return cmp.Or(cmp.Compare(max(a.Turn, 1), max(b.Turn, 1)), cmp.Compare(a.Line, b.Line))
	})
	n := 0
	for n < len(drifts) && max(drifts[n].Turn, 1) == max(drifts[0].Turn, 1) && drifts[n].Line == drifts[0].Line {
		n++
	}
	return drifts[:n], drifts[n:]
}

// diff names what differs between a taped request and one that was made.
func (taped *request) diff(made *request, was, is []Offered) []Drift {
	drifts := diffParts(taped.parts, made.parts)
	drifts = append(drifts, diffTools(taped.tools, made.tools, was, is)...)
	if taped.config != made.config {
		want, got := window(taped.config, made.config)
		drifts = append(drifts, Drift{Class: DriftConfig, Where: "config", Want: want, Got: got})
	}
	return drifts
}

// class is the drift class of a kind of part.
func (p part) class() string {
	switch p.kind {
	case kindSystem:
		return DriftSystem
	case kindResult:
		return DriftResult
	case kindCallName:
		return DriftCallName
	case kindCallArgs:
		return DriftCallArgs
	}
	return DriftMessages
}

// diffParts finds the first difference of each class: what comes after it would only
// repeat it.
func diffParts(want, got []part) []Drift {
	var drifts []Drift
	seen := make(map[string]bool)
	add := func(class, where, w, g string) {
		if !seen[class] {
			seen[class] = true
			drifts = append(drifts, Drift{Class: class, Where: where, Want: w, Got: g})
		}
	}
	for i := range min(len(want), len(got)) {
		w, g := want[i], got[i]
		if w.kind != g.kind {
			add(DriftMessages, w.at, w.kind+" "+clip(w.text), g.kind+" "+clip(g.text))
			return drifts
		}
		if w.text != g.text {
			a, b := window(w.text, g.text)
			add(w.class(), w.at, a, b)
		}
	}
	if n := min(len(want), len(got)); len(want) != len(got) {
		w, g := "(nothing)", "(nothing)"
		var where, class string
		if n < len(want) {
			w, where, class = clip(want[n].text), want[n].at, want[n].class()
		} else {
			g, where, class = clip(got[n].text), got[n].at, got[n].class()
		}
		add(class, where, w, g)
	}
	return drifts
}

// diffTools compares the offered functions. The hashes from before any dialect say
// whether the description or the schema of a tool changed; a dialect may put part of
// the one into the other.
func diffTools(want, got []tool, was, is []Offered) []Drift {
	var drifts []Drift
	old, now := make(map[string]tool), make(map[string]tool)
	for _, t := range want {
		old[t.name] = t
	}
	for _, t := range got {
		now[t.name] = t
	}
	raw, current := offered(was), offered(is)
	for _, t := range want {
		n, there := now[t.name]
		if !there {
			drifts = append(drifts, Drift{Class: DriftSchema, Where: "tool " + t.name, Want: "offered", Got: "(absent)", Rule: "tool-removed", Tier: TierBreaking})
			continue
		}
		description, schema := t.description != n.description, t.schema != n.schema
		before, known := raw[t.name]
		after, knownNow := current[t.name]
		if known && knownNow && (before.Description != after.Description || before.Schema != after.Schema) {
			description, schema = before.Description != after.Description, before.Schema != after.Schema
		}
		if description {
			a, b := window(t.description, n.description)
			drifts = append(drifts, Drift{Class: DriftDescription, Where: "tool " + t.name, Want: a, Got: b, Rule: "description-changed", Tier: TierMinor})
		}
		if schema {
			a, b := window(t.schema, n.schema)
			rule, tier := schemaRule(t.schema, n.schema)
			drifts = append(drifts, Drift{Class: DriftSchema, Where: "tool " + t.name, Want: a, Got: b, Rule: rule, Tier: tier})
		}
	}
	for _, t := range got {
		if _, there := old[t.name]; !there {
			drifts = append(drifts, Drift{Class: DriftSchema, Where: "tool " + t.name, Want: "(absent)", Got: "offered", Rule: "tool-added", Tier: TierDangerous})
		}
	}
	return drifts
}

func offered(list []Offered) map[string]Offered {
	m := make(map[string]Offered, len(list))
	for _, o := range list {
		m[o.Name] = o
	}
	return m
}

// clip cuts a text to what a line can hold.
func clip(s string) string {
	const longest = 300
	if len(s) <= longest {
		return s
	}
	return strings.ToValidUTF8(s[:longest], "") + fmt.Sprintf("… (%d bytes)", len(s))
}

// window cuts two texts to the surroundings of their first difference.
func window(a, b string) (string, string) {
	const before, after = 60, 140
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	cut := func(s string) string {
		from, to := max(0, i-before), min(len(s), i+after)
		text := strings.ToValidUTF8(s[min(from, len(s)):to], "")
		if from > 0 {
			text = "…" + text
		}
		if to < len(s) {
			text += "…"
		}
		return text
	}
	return cut(a), cut(b)
}
