package tape

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"molar/eval/match"
)

// compareTools compares the tools that a server lists now with those it listed before: removed, renamed
// and added tools, and changes of description, arguments, results and hints.
func compareTools(server string, was, now map[string]Tool) []Drift {
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

// A hint is metadata of a tool for people and policies that no model reads.
type hint struct{ name, value string }

// unset is the value of a missing hint. It differs from the protocol's defaults, since policies
// distinguish the two.
const unset = "not set"

// hints returns all hints of a tool, always in the same order.
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

// diffHints returns a drift for each changed hint.
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

// hintTier returns the tier of a changed hint. Withdrawing a promise is breaking: callers called
// the tool without asking, or retried it after a fault.
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

// diffOutput returns the drift of the output schema.
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

// renamed returns the name of a new tool with the same schema or the same description.
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

// tools converts definitions to the form in which requests are compared.
func tools(server string, defs map[string]Tool) []tool {
	var all []tool
	for _, name := range slices.Sorted(maps.Keys(defs)) {
		d := defs[name]
		all = append(all, tool{name: server + "__" + name, description: d.Description, schema: match.CanonicalJSON(d.InputSchema)})
	}
	return all
}
