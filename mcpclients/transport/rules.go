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

// Judge returns the rules for a tool, with what a person has confirmed about it, if that is known. What
// the config says about the tool wins.
func (s *ServerConfig) Judge(tool string, confirmed *schemas.ToolMarks, marks schemas.ServerMarks) schemas.ToolRules {
	rules := s.Rule(tool)
	rules.Marks = marks
	if confirmed == nil {
		return rules
	}
	if !rules.ReadOnly && !rules.Adds {
		rules.ReadOnly, rules.Adds = confirmed.Reads, confirmed.Adds
		rules.Writes = !confirmed.Reads && !confirmed.Adds
	}
	rules.Mild = rules.Mild || confirmed.Mild
	if rules.Content == nil {
		rules.Content = confirmed.Content
	}
	return rules
}

// Confirm returns the marks of the server with those that a person has confirmed; nil means that they
// have not. Marks of the config win.
func (s *ServerConfig) Confirm(confirmed *schemas.Confirmation) schemas.ServerMarks {
	marks := s.Marks
	switch {
	case confirmed == nil:
		marks.Unseen = !s.vouched()
	case !marks.Public && !marks.Closed && !marks.ReadOnly:
		marks.Public, marks.Closed, marks.ReadOnly = confirmed.Public, confirmed.Closed, confirmed.ReadOnly
	}
	return marks
}

// vouched reports whether the operator answers for the server without a person's confirmation: it is
// part of the host, or the config says what it is or what one of its tools does.
func (s *ServerConfig) vouched() bool {
	return s.InProcess != nil || s.Needed() || s.Marks.Trust || s.Marks.Public || s.Marks.Closed || s.Marks.ReadOnly ||
		slices.ContainsFunc(s.Rules, func(r ToolRule) bool { return r.ReadOnly || r.Adds || r.Content != nil })
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
