package lower

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// maxRefs bounds a chain of references.
const maxRefs = 64

// joinParts merges a schema's other parts: references, allOf, unions and tuples.
func (s *scope) joinParts() error {
	for _, ref := range s.refs {
		target, err := s.resolve(ref)
		if err != nil {
			return err
		}
		s.join(target, "$ref")
	}
	for _, part := range s.parts {
		n, err := s.schema(part, s.depth+1, s.below("allOf"), s.stack)
		if err != nil {
			return err
		}
		s.join(n, "allOf")
	}
	for _, u := range s.unions {
		if err := s.union(u); err != nil {
			return err
		}
	}
	if err := s.tuple(); err != nil {
		return err
	}
	if s.node.desc == "" {
		s.node.desc = s.title
	}
	if s.nullable && len(s.node.types) > 0 && !s.node.accepts("null") {
		s.node.types = append(slices.Clone(s.node.types), "null")
	}
	return nil
}

func (s *scope) join(n *node, from string) {
	if !s.node.merge(n) {
		s.note(s.at, "%s contradicts its neighbours; the first is kept", from)
	}
}

// resolve normalises the target of ref.
func (s *scope) resolve(ref string) (*node, error) {
	if s.left -= len(ref); s.left < 0 {
		return nil, ErrTooLarge
	}
	target, found := s.pointer(ref)
	if !found {
		s.note(s.at, "reference %q leads nowhere in this schema", cut(ref, 80))
		return &node{hints: []string{"see " + cut(ref, 80)}}, nil
	}
	inside := 0
	for _, above := range s.stack {
		if above == ref {
			inside++
		}
	}
	// The root is not in the stack, yet a reference to it is inside it.
	if ref == "#" {
		inside++
	}
	if inside > s.unroll || len(s.stack) >= maxRefs {
		s.note(s.at, "recursion through %q is cut", cut(ref, 80))
		return &node{types: plainTypes(target), hints: []string{"nested further in the same way"}}, nil
	}
	return s.schema(target, s.depth, s.at, append(slices.Clip(s.stack), ref))
}

// pointer finds the value of a reference of the form "#/a/b".
func (n *normaliser) pointer(ref string) (value, bool) {
	fragment, local := strings.CutPrefix(ref, "#")
	if !local {
		return value{}, false
	}
	if fragment == "" {
		return n.root, true
	}
	if decoded, err := url.PathUnescape(fragment); err == nil {
		fragment = decoded
	}
	if fragment[0] != '/' {
		return value{}, false
	}
	v, path := n.root, ""
	for step := range strings.SplitSeq(fragment[1:], "/") {
		var ok bool
		key := strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
		if v, ok = n.step(v, path, key); !ok {
			return value{}, false
		}
		path += "/" + step
	}
	return v, true
}

// step returns the member or element key of v; path is the position of v.
func (n *normaliser) step(v value, path, key string) (value, bool) {
	if v.isArray() {
		i, err := strconv.Atoi(key)
		if err != nil || i < 0 || i >= len(v.arr) {
			return value{}, false
		}
		return v.arr[i], true
	}
	members := n.index[path]
	if members == nil {
		members = make(map[string]value, len(v.obj))
		for _, m := range v.obj {
			members[m.key] = m.val
		}
		if n.index == nil {
			n.index = map[string]map[string]value{}
		}
		n.index[path] = members
	}
	found, ok := members[key]
	return found, ok
}

// union merges an anyOf or oneOf.
func (s *scope) union(u member) error {
	var branches []*node
	needs := make([]string, 0, len(u.val.arr))
	for _, v := range u.val.arr {
		b, err := s.schema(v, s.depth+1, s.below(u.key), s.stack)
		if err != nil {
			return err
		}
		switch {
		case b.never:
		case isRequirement(v):
			needs = append(needs, strings.Join(requiredNames(v), " and "))
		default:
			branches = append(branches, b)
		}
	}
	if len(needs) > 0 {
		s.node.addHints("needs " + strings.Join(needs, ", or "))
	}
	switch {
	case len(branches) == 0:
		if len(u.val.arr) > 0 && len(needs) == 0 {
			s.node.never = true
		}
	case len(branches) == 1 && len(needs) == 0:
		s.join(branches[0], u.key)
	case len(s.node.anyOf) > 0:
		s.note(s.at, "%s beside another union is only described", u.key)
		s.node.keep = append(s.node.keep, u)
	default:
		s.node.anyOf = branches
	}
	return nil
}

// isRequirement reports whether a branch only names required properties.
func isRequirement(v value) bool {
	for _, m := range v.obj {
		if m.key != "required" && m.key != "type" {
			return false
		}
	}
	return len(requiredNames(v)) > 0
}

func requiredNames(v value) []string {
	var names []string
	for _, m := range v.obj {
		for _, name := range m.val.arr {
			if m.key == "required" && name.isString() {
				names = append(names, name.str)
			}
		}
	}
	return names
}

// tuple merges the elements of a tuple into one schema for any element.
func (s *scope) tuple() error {
	if len(s.prefix) == 0 {
		return nil
	}
	if len(s.prefix) > maxFacts {
		s.note(s.at, "only the first %d members of the tuple are described", maxFacts)
		s.prefix = s.prefix[:maxFacts]
	}
	var members []*node
	var texts []string
	for _, v := range s.prefix {
		n, err := s.child(v, "prefixItems")
		if err != nil {
			return err
		}
		texts = append(texts, shape(n))
		if !slices.ContainsFunc(members, func(m *node) bool { return shape(m) == shape(n) }) {
			members = append(members, n)
		}
	}
	s.node.addHints("in this order: " + cut(strings.Join(texts, ", "), maxFact))
	if rest := s.node.items; rest != nil && !rest.never {
		members = append(members, rest)
	}
	s.node.items = &node{anyOf: members}
	if len(members) == 1 {
		s.node.items = members[0]
	}
	return nil
}
