package drift

import (
	"maps"
	"slices"

	"molar/eval/match"
	"molar/eval/wire"
	"molar/schemas"
)

// Keys are hashes of the parts of a request: the first twelve digits of SHA-256.
type Keys struct {
	System   string `json:"system"`
	Messages string `json:"messages"`
	Tools    string `json:"tools"`
	Config   string `json:"config"`
}

// Offered is a tool that was offered, before any provider's dialect: hashes of its
// description and its schema.
type Offered struct {
	Name        string `json:"name"`
	Description string `json:"desc_sha"`
	Schema      string `json:"schema_sha"`
}

// Offer is what tools look like before any dialect.
func Offer(tools []schemas.ToolInfo) []Offered {
	var offered []Offered
	for _, t := range tools {
		offered = append(offered, Offered{Name: t.Name, Description: Sha(t.Description), Schema: Sha(match.CanonicalJSON(t.InputSchema))})
	}
	return offered
}

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
	return append(drifts, diffTools(tools(server, was), tools(server, now), nil, nil)...)
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
