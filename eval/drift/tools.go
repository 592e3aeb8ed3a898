package drift

import (
	"maps"
	"slices"

	"molar/eval/match"
	"molar/eval/wire"
)

// Tools compares what a server lists now with what it listed: tools that were removed,
// renamed, added, described anew, or want other arguments.
func Tools(server string, was, now map[string]wire.Tool) []Drift {
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
	return append(drifts, diffTools(tools(server, was), tools(server, now))...)
}

// renamed finds a new tool that wants the same or is described the same.
func renamed(old wire.Tool, was, now map[string]wire.Tool) string {
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
func tools(server string, defs map[string]wire.Tool) []tool {
	var all []tool
	for _, name := range slices.Sorted(maps.Keys(defs)) {
		d := defs[name]
		all = append(all, tool{name: server + "__" + name, description: d.Description, schema: match.CanonicalJSON(d.InputSchema)})
	}
	return all
}
