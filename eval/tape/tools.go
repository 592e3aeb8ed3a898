package tape

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"molar/eval/match"
)

// Tools compares what a server lists now with what it listed: tools that were removed,
// renamed, added, described anew, want other arguments, promise other results, or hint at
// something else.
func Tools(server string, was, now map[string]Tool) []Drift {
	was, now = maps.Clone(was), maps.Clone(now)
	var drifts []Drift
	for _, old := range slices.Sorted(maps.Keys(was)) {
		if _, there := now[old]; there {
			continue
		}
		if name := renamed(was[old], was, now); name != "" {
			drifts = append(drifts, Drift{Class: Schema, Where: "tool " + server + "__" + old, Want: old, Got: name, Rule: "tool-renamed", Tier: TierBreaking})
			delete(now, name)
			delete(was, old)
		}
	}
	drifts = append(drifts, diffTools(tools(server, was), tools(server, now))...)
	for _, name := range slices.Sorted(maps.Keys(was)) {
		if t, there := now[name]; there {
			drifts = append(drifts, diffHints("tool "+server+"__"+name, hints(was[name]), hints(t))...)
			drifts = append(drifts, diffOutput("tool "+server+"__"+name, was[name].OutputSchema, t.OutputSchema)...)
		}
	}
	return drifts
}

// A hint is what a server says of a tool for people and policies, and no model reads.
type hint struct{ name, value string }

// unset is the value of a hint that a server does not give. It differs from each default of
// the protocol, as policies do not take the one for the other.
const unset = "not set"

// hints are all hints of a tool, always in the same order.
func hints(t Tool) []hint {
	given := func(b *bool) string {
		if b == nil {
			return unset
		}
		return strconv.FormatBool(*b)
	}
	a := t.Annotations
	return []hint{
		{"readOnlyHint", given(a.ReadOnlyHint)},
		{"destructiveHint", given(a.DestructiveHint)},
		{"idempotentHint", given(a.IdempotentHint)},
		{"openWorldHint", given(a.OpenWorldHint)},
		{"title", cmp.Or(t.Title, unset)},
		{"annotations.title", cmp.Or(a.Title, unset)},
	}
}

// diffHints names each hint that changed.
func diffHints(where string, was, now []hint) []Drift {
	var drifts []Drift
	for i, w := range was {
		n := now[i]
		if w == n {
			continue
		}
		d := differing(Annotation, where, w.name+": "+w.value, n.name+": "+n.value)
		d.Rule, d.Tier = "annotation-changed", hintTier(w.name, w.value, n.value)
		drifts = append(drifts, d)
	}
	return drifts
}

// hintTier is what a changed hint does to callers. A promise that is taken back breaks them:
// they called the tool without a question, or again after a fault.
func hintTier(name, was, now string) string {
	switch name {
	case "title", "annotations.title":
		return TierMinor
	case "readOnlyHint", "idempotentHint":
		if was == "true" {
			return TierBreaking
		}
	case "destructiveHint":
		if was == "false" || now == "true" {
			return TierBreaking
		}
	}
	return TierDangerous
}

// diffOutput names a change of what a tool promises of its results.
func diffOutput(where string, was, now json.RawMessage) []Drift {
	before, after := "(none)", "(none)"
	if len(was) > 0 {
		before = match.CanonicalJSON(was)
	}
	if len(now) > 0 {
		after = match.CanonicalJSON(now)
	}
	if before == after {
		return nil
	}
	d := differing(DriftOutput, where, before, after)
	switch {
	case len(was) == 0:
		d.Rule, d.Tier = "output-schema-added", TierMinor
	case len(now) == 0:
		d.Rule, d.Tier = "output-schema-removed", TierBreaking
	default:
		d.Rule, d.Tier = "output-schema-changed", TierBreaking
		if rule, tier := schemaRule(before, after); rule == "text-changed" {
			d.Tier = tier
		}
	}
	return []Drift{d}
}

// renamed finds a new tool that wants the same or is described the same.
func renamed(old Tool, was, now map[string]Tool) string {
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if _, known := was[name]; known {
			continue
		}
		t := now[name]
		same := match.CanonicalJSON(t.InputSchema) == match.CanonicalJSON(old.InputSchema)
		if same || t.Description != "" && t.Description == old.Description {
			return name
		}
	}
	return ""
}

// tools writes definitions in the form in which requests are compared.
func tools(server string, defs map[string]Tool) []tool {
	var all []tool
	for _, name := range slices.Sorted(maps.Keys(defs)) {
		d := defs[name]
		all = append(all, tool{name: server + "__" + name, description: d.Description, schema: match.CanonicalJSON(d.InputSchema)})
	}
	return all
}
