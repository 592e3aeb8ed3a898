package schemas

import (
	"path"
	"slices"
	"strings"
)

// A Group is what its members may do: an entry of groups in the config file.
type Group struct {
	// Name is the key of the entry, and the group's name at the identity provider.
	Name string `yaml:"-"`
	// Scopes empty means chat.
	Scopes []string `yaml:"scopes" jsonschema:"enum=chat,enum=admin,enum=metrics,enum=review" jsonschema_description:"What its members may do: chat, admin, metrics, review (default chat)."`
	// Assistants and Tools are globs; "!glob" excludes from this group's own. Empty means all.
	Assistants []string `yaml:"assistants" jsonschema_description:"Globs over the assistants that its members may use; !glob excludes; all when left out."`
	Tools      []string `yaml:"tools" jsonschema_description:"Globs over the tools that a model may call for its members, among those of the assistant; !glob excludes; all when left out."`
	// ApprovesOwn lets its members decide about their own calls of tools that name the group.
	ApprovesOwn bool `yaml:"approves_own" jsonschema_description:"Its members may approve their own calls of the tools that name the group in approvers; without it only another member may."`
}

// Rights are what somebody may do: the union of what their groups allow. Nil Rights have no limit.
type Rights struct {
	// Groups are never none: without one nobody gets in.
	Groups []Group
}

// Assistant reports whether one of the groups allows the assistant.
func (r *Rights) Assistant(name string) bool {
	return r == nil || slices.ContainsFunc(r.Groups, func(g Group) bool { return len(g.Assistants) == 0 || MatchGlobs(g.Assistants, name) })
}

// AllAssistants reports whether one of the groups allows every assistant, without naming any.
func (r *Rights) AllAssistants() bool {
	return r == nil || slices.ContainsFunc(r.Groups, func(g Group) bool { return len(g.Assistants) == 0 })
}

// Tool reports whether one of the groups allows the tool, by its offered name or the server's name for
// it.
func (r *Rights) Tool(t ToolInfo) bool {
	return r == nil || slices.ContainsFunc(r.Groups, func(g Group) bool { return len(g.Tools) == 0 || MatchGlobs(g.Tools, t.Name, t.ToolName) })
}

// Within returns rights that allow only some of the tools that they allow; their groups stay the same.
func (r *Rights) Within(tools []ToolInfo) *Rights {
	if r == nil {
		r = &Rights{Groups: []Group{{}}}
	}
	some := &Rights{Groups: slices.Clone(r.Groups)}
	for i, g := range some.Groups {
		own := Rights{Groups: []Group{g}}
		some.Groups[i].Tools = []string{"!*"} // no list would mean all
		for _, t := range tools {
			if own.Tool(t) {
				some.Groups[i].Tools = append(some.Groups[i].Tools, t.Name)
			}
		}
		if len(some.Groups[i].Tools) > 1 {
			some.Groups[i].Tools = some.Groups[i].Tools[1:]
		}
	}
	return some
}

// Scopes returns the scopes of all groups, each once; of somebody without limit chat.
func (r *Rights) Scopes() []string {
	if r == nil {
		return []string{"chat"}
	}
	var scopes []string
	for _, g := range r.Groups {
		for _, s := range g.Scopes {
			if !slices.Contains(scopes, s) {
				scopes = append(scopes, s)
			}
		}
	}
	return scopes
}

// Names returns the names of the groups.
func (r *Rights) Names() []string {
	if r == nil {
		return nil
	}
	names := make([]string, len(r.Groups))
	for i, g := range r.Groups {
		names[i] = g.Name
	}
	return names
}

// MatchGlobs reports whether one of the globs matches one of the names, and no "!glob" does.
func MatchGlobs(globs []string, names ...string) bool {
	allowed := false
	for _, glob := range globs {
		pattern, negative := strings.CutPrefix(glob, "!")
		if !slices.ContainsFunc(names, func(name string) bool {
			ok, err := path.Match(pattern, name)
			return err == nil && ok
		}) {
			continue
		}
		if negative {
			return false
		}
		allowed = true
	}
	return allowed
}
