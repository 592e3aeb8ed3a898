package transport

import (
	"cmp"
	"path"
	"slices"

	"molar/schemas"
)

// Rule returns the operator's rules for a tool: those of the first glob that matches its own
// name, else the policy auto.
func (s *ServerConfig) Rule(tool string) schemas.ToolRules {
	for _, r := range s.Rules {
		if matches(r.Glob, tool) {
			rules := r.ToolRules
			rules.Timeout = cmp.Or(rules.Timeout, s.Timeout)
			rules.Policy, rules.Marks = cmp.Or(rules.Policy, schemas.PolicyAuto), s.Marks
			rules.Always = rules.Always || s.Always
			return rules
		}
	}
	return schemas.ToolRules{Policy: schemas.PolicyAuto, Marks: s.Marks, Always: s.Always, Timeout: s.Timeout}
}

// Includes reports whether the config admits a tool of this name.
func (s *ServerConfig) Includes(tool string) bool {
	any := func(globs []string) bool {
		return slices.ContainsFunc(globs, func(glob string) bool { return matches(glob, tool) })
	}
	return (len(s.IncludeTools) == 0 || any(s.IncludeTools)) && !any(s.ExcludeTools)
}

// matches is [path.Match] for validated globs.
func matches(glob, name string) bool {
	ok, err := path.Match(glob, name)
	return err == nil && ok
}
