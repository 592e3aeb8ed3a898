package lower

import (
	"fmt"
	"slices"
	"strings"
)

// A normaliser converts one schema to the common form.
type normaliser struct {
	effort
	root  value
	left  int // bytes that may still be spent
	notes []string
	// index speeds up pointers into large objects.
	index map[string]map[string]value
}

// A place is a schema's position in the original, for notes.
type place struct {
	up   *place
	name string
}

func (p *place) String() string {
	if p == nil {
		return "schema"
	}
	if p.up == nil {
		return p.name
	}
	return p.up.String() + "." + p.name
}

func (n *normaliser) note(at *place, format string, args ...any) {
	if len(n.notes) < maxNotes {
		n.notes = append(n.notes, cut(at.String(), 200)+": "+fmt.Sprintf(format, args...))
	}
}

// schema normalises v. The stack holds the references that led to it.
func (n *normaliser) schema(v value, depth int, at *place, stack []string) (*node, error) {
	if n.left -= 16; n.left < 0 {
		return nil, ErrTooLarge
	}
	switch {
	case v.isTrue():
		return &node{}, nil
	case v.isFalse():
		return &node{never: true}, nil
	case !v.isObject():
		n.note(at, "%s is no schema; anything is accepted", cut(string(v.raw), 40))
		return &node{}, nil
	case depth > n.depth:
		n.note(at, "deeper levels are left out")
		return &node{types: plainTypes(v), hints: []string{"deeper levels are left out"}}, nil
	}
	s := scope{normaliser: n, node: &node{}, depth: depth, at: at, stack: stack}
	for _, m := range v.obj {
		if err := s.keyword(m); err != nil {
			return nil, err
		}
	}
	if err := s.joinParts(); err != nil {
		return nil, err
	}
	s.node.infer()
	return s.node, nil
}

// A scope is the work on one schema object.
type scope struct {
	*normaliser
	node  *node
	depth int
	at    *place
	stack []string

	title    string
	nullable bool
	parts    []value // allOf
	refs     []string
	unions   []member // anyOf and oneOf
	prefix   []value  // the members of a tuple
}

func (s *scope) below(name string) *place { return &place{s.at, name} }

func (s *scope) child(v value, name string) (*node, error) {
	return s.schema(v, s.depth+1, s.below(name), s.stack)
}

// keyword processes one keyword of the schema.
func (s *scope) keyword(m member) (err error) {
	switch m.key {
	case "$ref", "$recursiveRef", "$dynamicRef":
		s.refs = append(s.refs, m.val.str)
	case "allOf":
		s.parts = append(s.parts, m.val.arr...)
	case "anyOf", "oneOf":
		s.unions = append(s.unions, m)
	case "properties":
		return s.properties(m.val)
	case "required":
		s.required(m.val)
	case "additionalProperties":
		return s.others(m.val)
	case "items":
		if m.val.isArray() {
			s.prefix = m.val.arr
			return nil
		}
		s.node.items, err = s.child(m.val, "items")
	case "prefixItems":
		s.prefix = m.val.arr
	default:
		return s.plain(m)
	}
	return err
}

// plain processes a keyword that holds no schema.
func (s *scope) plain(m member) error {
	if skipped(m.key) {
		return nil
	}
	if s.left -= len(m.val.raw); s.left < 0 {
		return ErrTooLarge
	}
	switch m.key {
	case "type":
		s.types(m.val)
	case "nullable":
		s.nullable = m.val.isTrue()
	case "title":
		s.title = m.val.str
	case "description":
		s.node.desc = cut(strings.TrimSpace(m.val.str), maxDesc)
	case "const":
		s.node.mergeEnum(&node{enum: []value{m.val}, hasEnum: true})
	case "enum":
		if len(m.val.arr) == 0 {
			s.note(s.at, "enum without values is ignored")
			return nil
		}
		s.node.mergeEnum(&node{enum: m.val.arr, hasEnum: true})
	default:
		if kept(m.key) {
			s.node.keep = append(s.node.keep, m)
		} else {
			s.note(s.at, "keyword %q is ignored", cut(m.key, 40))
		}
	}
	return nil
}

// typeName maps common type names to JSON Schema's, and others to "".
func typeName(name string) string {
	switch name := strings.ToLower(name); name {
	case "string", "number", "integer", "boolean", "object", "array", "null":
		return name
	case "str", "text":
		return "string"
	case "int", "long":
		return "integer"
	case "float", "double":
		return "number"
	case "bool":
		return "boolean"
	case "dict", "map":
		return "object"
	case "list":
		return "array"
	}
	return ""
}

func (s *scope) types(v value) {
	names := v.arr
	if v.isString() {
		names = []value{v}
	}
	for _, name := range names {
		t := typeName(name.str)
		switch {
		case t == "":
			s.note(s.at, "type %s is ignored", cut(string(name.raw), 40))
		case !slices.Contains(s.node.types, t):
			s.node.types = append(s.node.types, t)
		}
	}
	if len(names) == 0 {
		s.note(s.at, "type %s is ignored", cut(string(v.raw), 40))
	}
}

// plainTypes returns the types that v names directly.
func plainTypes(v value) []string {
	s := scope{normaliser: &normaliser{}, node: &node{}}
	for _, m := range v.obj {
		if m.key == "type" {
			s.types(m.val)
		}
	}
	return s.node.types
}

func (s *scope) properties(v value) error {
	if !v.isObject() {
		s.note(s.at, "properties is no object and is ignored")
		return nil
	}
	seen := make(map[string]int, len(v.obj))
	s.node.props = make([]property, 0, len(v.obj))
	for _, m := range v.obj {
		s.left -= len(m.key)
		p, err := s.child(m.val, m.key)
		if err != nil {
			return err
		}
		if p.never {
			s.note(s.below(m.key), "may never be given and is left out")
			continue
		}
		if i, twice := seen[m.key]; twice {
			s.node.props[i].node = p
			continue
		}
		seen[m.key] = len(s.node.props)
		s.node.props = append(s.node.props, property{m.key, p})
	}
	return nil
}

func (s *scope) required(v value) {
	if !v.isArray() {
		// Draft 3 marks the property itself; its object cannot be reached from here.
		if !v.isFalse() {
			s.node.addHints("required")
		}
		return
	}
	seen := map[string]bool{}
	for _, name := range v.arr {
		s.left -= len(name.raw)
		if name.isString() && !seen[name.str] {
			seen[name.str] = true
			s.node.required = append(s.node.required, name.str)
		}
	}
}

func (s *scope) others(v value) error {
	switch {
	case v.isTrue():
		return nil
	case v.isFalse():
		s.node.closed = true
		return nil
	}
	others, err := s.child(v, "additionalProperties")
	if err == nil && !others.isAny() {
		s.node.others = others
	}
	return err
}
