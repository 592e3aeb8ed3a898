package tape

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"molar/eval/match"
	"molar/internal/text"
)

// The classes of drift.
const (
	System      = "system"
	Messages    = "messages"
	Schema      = "tools.schema"
	Description = "tools.description"
	// Annotation is a hint or a title of a tool, DriftOutput the schema of its results.
	Annotation  = "tools.annotation"
	DriftOutput = "tools.output"
	Config      = "config"
	// Signature is a thought signature that was not returned unchanged.
	Signature = "signature"
	// Transport is another address or method, for example a streamed request instead of a whole
	// one.
	Transport = "transport"
	// TurnFailed is a turn that fails before its first request.
	TurnFailed  = "turn.failed"
	CallName    = "call.name"
	CallArgs    = "call.args"
	CallMissing = "call.missing"
	CallExtra   = "call.extra"
	CallOrder   = "call.order"
	Guardrail   = "guardrail"
	Result      = "result"
	Answer      = "answer"
	// ModelExtra is a model call that is not on the tape.
	ModelExtra = "model.extra"
	// Unconsumed is a part of the tape that was not requested.
	Unconsumed = "unconsumed"
)

// A Drift is one difference between a tape and its replay.
type Drift struct {
	Class string `json:"class"`
	Turn  int    `json:"turn"`
	// Line is the line of the tape.
	Line int `json:"line"`
	// Where is the place, Want the text on the tape, and Got the text in the replay.
	Where string `json:"where"`
	Want  string `json:"want,omitempty"`
	Got   string `json:"got,omitempty"`
	// Rule and Tier say how a changed tool affects its callers, if known.
	Rule string `json:"rule,omitempty"`
	Tier string `json:"tier,omitempty"`

	was, now string // uncut
	late     bool   // the cause only if nothing else in the turn differs
}

// Full returns both sides uncut.
func (d *Drift) Full() (was, now string) {
	if d.was == "" && d.now == "" {
		return d.Want, d.Got
	}
	return d.was, d.now
}

// differing returns a drift between two texts, cut to their differences.
func differing(class, where, was, now string) Drift {
	want, got := match.Excerpt(match.Words(was, now))
	return Drift{Class: class, Where: where, Want: want, Got: got, was: was, now: now}
}

// rank sorts drifts. Those at the first place are the cause of the others. An unconsumed part is
// the cause only if nothing else in its turn differs.
func rank(drifts []Drift) (causes, follows []Drift) {
	late := func(d Drift) int {
		if d.Class == Unconsumed || d.late {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(drifts, func(a, b Drift) int {
		return cmp.Or(cmp.Compare(max(a.Turn, 1), max(b.Turn, 1)), cmp.Compare(late(a), late(b)), cmp.Compare(a.Line, b.Line))
	})
	n := 0
	for n < len(drifts) && max(drifts[n].Turn, 1) == max(drifts[0].Turn, 1) && drifts[n].Line == drifts[0].Line {
		n++
	}
	return drifts[:n], drifts[n:]
}

// Diff returns the differences between a request on the tape and one that was made.
func (taped *Request) Diff(made *Request) []Drift {
	drifts := diffParts(taped.parts, made.parts, taped.strict)
	drifts = append(drifts, diffTools(taped.tools, made.tools)...)
	if taped.config != made.config {
		drifts = append(drifts, differing(Config, "config", taped.config, made.config))
	}
	return drifts
}

// diffParts returns the first difference of each class; later ones would only repeat it.
func diffParts(want, got []part, strict bool) []Drift {
	var drifts []Drift
	seen := make(map[string]bool)
	add := func(d Drift) {
		if !seen[d.Class] {
			seen[d.Class] = true
			drifts = append(drifts, d)
		}
	}
	for i := range min(len(want), len(got)) {
		w, g := want[i], got[i]
		if w.class != g.class {
			class := Messages
			if w.class == Signature || g.class == Signature {
				class = Signature // a lost or new signature shifts all later parts
			}
			add(Drift{Class: class, Where: w.at, Want: w.class + " " + clip(w.text), Got: g.class + " " + clip(g.text)})
			return drifts
		}
		if w.text != g.text {
			add(differing(w.class, w.at, w.text, g.text))
		}
		if w.call != g.call && g.call != 0 && (w.call != 0 || strict) {
			add(Drift{Class: w.class, Where: w.at, Want: w.callName(), Got: g.callName()})
		}
	}
	if n := min(len(want), len(got)); len(want) != len(got) {
		w, g := "(nothing)", "(nothing)"
		var where, class string
		if n < len(want) {
			w, where, class = clip(want[n].text), want[n].at, want[n].class
		} else {
			g, where, class = clip(got[n].text), got[n].at, got[n].class
		}
		add(Drift{Class: class, Where: where, Want: w, Got: g})
	}
	return drifts
}

// diffTools compares the offered functions.
func diffTools(want, got []tool) []Drift {
	var drifts []Drift
	old, now := make(map[string]tool), make(map[string]tool)
	for _, t := range want {
		old[t.name] = t
	}
	for _, t := range got {
		now[t.name] = t
	}
	var removed, added []string
	for _, t := range want {
		n, there := now[t.name]
		if !there {
			removed = append(removed, t.name)
			continue
		}
		description, schema := t.description != n.description, t.schema != n.schema
		if description {
			d := differing(Description, "tool "+t.name, t.description, n.description)
			d.Rule, d.Tier = "description-changed", TierMinor
			drifts = append(drifts, d)
		}
		if schema {
			d := differing(Schema, "tool "+t.name, t.schema, n.schema)
			d.Rule, d.Tier = schemaRule(t.schema, n.schema)
			drifts = append(drifts, d)
		}
	}
	for _, t := range got {
		if _, there := old[t.name]; !there {
			added = append(added, t.name)
		}
	}
	if len(removed) > 0 {
		drifts = append(drifts, Drift{Class: Schema, Where: toolNames(removed), Want: "offered", Got: "(absent)", Rule: "tool-removed", Tier: TierBreaking})
	}
	if len(added) > 0 {
		drifts = append(drifts, Drift{Class: Schema, Where: toolNames(added), Want: "(absent)", Got: "offered", Rule: "tool-added", Tier: TierDangerous})
	}
	return drifts
}

// toolNames describes one or more tools in one line.
func toolNames(names []string) string {
	if len(names) == 1 {
		return "tool " + names[0]
	}
	return fmt.Sprintf("%d tools: %s", len(names), strings.Join(names, ", "))
}

// clip cuts a text to 300 bytes.
func clip(s string) string { return text.Clip(s, 300, fmt.Sprintf("… (%d bytes)", len(s))) }
