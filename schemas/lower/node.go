package lower

import (
	"bytes"
	"slices"
	"strings"
)

// A node is a schema in the common form: no references, no allOf, no oneOf, no const, no boolean
// schemas except never.
type node struct {
	// types are the accepted JSON types; empty means any.
	types []string
	desc  string
	// enum lists the accepted values, if hasEnum.
	enum    []value
	hasEnum bool
	// anyOf are alternatives, one of which must match too.
	anyOf []*node
	// props are the known properties in order; required names the mandatory ones, a subset of
	// props once the node is finished.
	props    []property
	required []string
	// items is the schema of an array's elements; nil means any.
	items *node
	// others is the schema of further properties; closed forbids them.
	others *node
	closed bool
	// keep holds further constraints unchanged, in order.
	keep []member
	// hints are facts that have no keyword left.
	hints []string
	// never accepts nothing (the schema false).
	never bool
}

type property struct {
	name string
	node *node
}

func (n *node) accepts(typ string) bool { return slices.Contains(n.types, typ) }

// isAny reports whether the node constrains nothing.
func (n *node) isAny() bool {
	return !n.never && len(n.types) == 0 && !n.hasEnum && len(n.anyOf) == 0 && len(n.keep) == 0
}

// merge combines n and m into n. If they conflict, n wins and the result is false.
func (n *node) merge(m *node) bool {
	clean := n.mergeTypes(m)
	if m.desc != "" && !strings.Contains(n.desc, m.desc) {
		n.desc = cut(strings.TrimSpace(n.desc+" "+m.desc), maxDesc)
	}
	n.mergeEnum(m)
	clean = n.mergeProps(m) && clean
	switch {
	case len(n.anyOf) == 0:
		n.anyOf = m.anyOf
	case len(m.anyOf) > 0:
		clean = false
	}
	if n.items == nil {
		n.items = m.items
	} else if m.items != nil {
		clean = n.items.merge(m.items) && clean
	}
	if n.others == nil {
		n.others = m.others
	}
	n.closed = n.closed || m.closed
	n.never = n.never || m.never
	for _, k := range m.keep {
		if len(n.keep) < maxFacts && !slices.ContainsFunc(n.keep, func(have member) bool { return have.key == k.key && bytes.Equal(have.val.raw, k.val.raw) }) {
			n.keep = append(n.keep, k)
		}
	}
	n.addHints(m.hints...)
	return clean
}

func (n *node) mergeTypes(m *node) bool {
	if len(n.types) == 0 || len(m.types) == 0 {
		n.types = append(n.types, m.types...)
		return true
	}
	var both []string
	for _, t := range n.types {
		switch {
		case m.accepts(t), t == "integer" && m.accepts("number"):
			both = append(both, t)
		case t == "number" && m.accepts("integer"):
			both = append(both, "integer")
		}
	}
	if len(both) == 0 {
		return false
	}
	n.types = both
	return true
}

func (n *node) mergeEnum(m *node) {
	switch {
	case !m.hasEnum:
	case !n.hasEnum:
		n.enum, n.hasEnum = m.enum, true
	default:
		theirs := make(map[string]bool, len(m.enum))
		for _, v := range m.enum {
			theirs[string(v.raw)] = true
		}
		n.enum = slices.DeleteFunc(slices.Clone(n.enum), func(v value) bool { return !theirs[string(v.raw)] })
	}
}

func (n *node) mergeProps(m *node) bool {
	n.require(m.required)
	if len(n.props) == 0 || len(m.props) == 0 {
		n.props = append(n.props, m.props...)
		return true
	}
	clean := true
	index := make(map[string]*node, len(n.props))
	for _, p := range n.props {
		index[p.name] = p.node
	}
	for _, p := range m.props {
		if have := index[p.name]; have != nil {
			clean = have.merge(p.node) && clean
			continue
		}
		index[p.name] = p.node
		n.props = append(n.props, p)
	}
	return clean
}

// require adds names to the required ones.
func (n *node) require(names []string) {
	if len(names) == 0 {
		return
	}
	have := nameSet(n.required)
	for _, name := range names {
		if !have[name] {
			have[name] = true
			n.required = append(n.required, name)
		}
	}
}

func nameSet(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}

func (n *node) addHints(hints ...string) {
	for _, h := range hints {
		if len(n.hints) < maxFacts && !slices.Contains(n.hints, h) {
			n.hints = append(n.hints, h)
		}
	}
}

// infer gives a node without a type the type that its keywords imply.
func (n *node) infer() {
	if len(n.types) == 0 && len(n.anyOf) == 0 {
		n.types = n.impliedTypes()
	}
}

// prune reduces required to known properties, here and below, and describes the other required
// ones in words.
func (n *node) prune() {
	for _, p := range n.props {
		p.node.prune()
	}
	if n.items != nil {
		n.items.prune()
	}
	if n.others != nil {
		n.others.prune()
	}
	for _, branch := range n.anyOf {
		branch.prune()
	}
	if len(n.required) == 0 {
		return
	}
	known := make(map[string]bool, len(n.props))
	for _, p := range n.props {
		known[p.name] = true
	}
	var names, missing []string
	for _, name := range n.required {
		if known[name] {
			names = append(names, name)
		} else {
			missing = append(missing, name)
		}
	}
	n.required = names
	if len(missing) > 0 {
		n.addHints("must also have: " + cut(strings.Join(missing, ", "), maxFact))
	}
}

// impliedTypes guesses the types of a node that names none.
func (n *node) impliedTypes() []string {
	switch {
	case len(n.props) > 0 || n.others != nil || n.closed:
		return []string{"object"}
	case n.items != nil:
		return []string{"array"}
	}
	var types []string
	for _, v := range n.enum {
		if t := v.typeName(); len(types) < 7 && !slices.Contains(types, t) {
			types = append(types, t)
		}
	}
	for _, k := range n.keep {
		if t := impliedBy(k.key); t != "" && len(types) == 0 {
			types = append(types, t)
		}
	}
	return types
}
