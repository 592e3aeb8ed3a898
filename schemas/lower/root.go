package lower

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// asObject converts the root to an object, which every service requires for parameters. It
// reports whether the root had to be wrapped.
func asObject(root *node, notes *[]string) (*node, bool, error) {
	note := func(text string) { *notes = append(*notes, "schema: "+text) }
	switch {
	case root.never:
		return nil, false, fmt.Errorf("%w: it accepts no arguments at all (false)", ErrInvalid)
	case root.accepts("object"), len(root.props) > 0:
		if len(root.types) > 1 {
			note("only the object of its types is offered")
		}
		root.types = []string{"object"}
		if root.hasEnum {
			note("its list of values is not offered")
			root.enum, root.hasEnum = nil, false
		}
	case root.isAny(), len(root.types) == 1 && root.accepts("null"):
		note("names no arguments")
		return &node{types: []string{"object"}, desc: root.desc, hints: root.hints}, false, nil
	case objects(root.anyOf):
		root.types = []string{"object"}
	default:
		note("is no object; it is offered as the property \"" + wrapName + "\"")
		return &node{types: []string{"object"}, props: []property{{wrapName, root}}, required: []string{wrapName}}, true, nil
	}
	if len(root.anyOf) > 0 {
		note("its alternatives are offered as one object")
		root.flatten()
	}
	return root, false, nil
}

// objects reports whether all branches are objects, or null, or unions of objects.
func objects(branches []*node) bool {
	found := false
	for _, b := range branches {
		switch {
		case b.accepts("object"), len(b.types) == 0 && objects(b.anyOf):
			found = true
		case len(b.types) == 1 && b.accepts("null"):
		default:
			return false
		}
	}
	return found
}

// flatten merges the properties of all alternatives into one object, requires what all of them
// require, and describes which belong together.
func (n *node) flatten() {
	var sets []string
	var common []string
	first := true
	index := make(map[string]int, len(n.props))
	own := len(n.props)
	for i, p := range n.props {
		index[p.name] = i
	}
	for _, b := range n.anyOf[:min(len(n.anyOf), maxFacts)] {
		if len(b.anyOf) > 0 {
			b.flatten()
		}
		if len(b.props) == 0 {
			continue
		}
		for _, p := range b.props {
			i, have := index[p.name]
			switch {
			case !have:
				index[p.name] = len(n.props)
				n.props = append(n.props, p)
			case i < own:
				n.props[i].node = n.props[i].node.orBranch(p.node)
			default:
				n.props[i].node = either(n.props[i].node, p.node)
			}
		}
		if first {
			common, first = slices.Clone(b.required), false
		}
		theirs := nameSet(b.required)
		common = slices.DeleteFunc(common, func(name string) bool { return !theirs[name] })
		sets = append(sets, b.set())
	}
	n.anyOf = nil
	n.require(common)
	if len(sets) > 1 {
		n.addHints("give one of these sets: " + cut(strings.Join(sets, " or "), 4*maxFact))
	}
}

// set describes the properties of an alternative; required ones with a single value distinguish
// it.
func (n *node) set() string {
	required := nameSet(n.required)
	names := make([]string, 0, len(n.props))
	for _, p := range n.props {
		name := p.name
		if len(p.node.enum) == 1 {
			name += "=" + cut(string(p.node.enum[0].raw), 40)
		}
		if !required[p.name] {
			name += "?"
		}
		names = append(names, name)
	}
	return "{" + strings.Join(names, ", ") + "}"
}

// orBranch returns n, completed by an alternative.
func (n *node) orBranch(branch *node) *node {
	if !n.isAny() {
		return n
	}
	merged := *branch
	if merged.desc == "" {
		merged.desc = n.desc
	}
	return &merged
}

// either returns a node that accepts what a or b accepts.
func either(a, b *node) *node {
	x, y := ollama{}.node(nil, a, false), ollama{}.node(nil, b, false)
	if bytes.Equal(x, y) {
		return a
	}
	if a.hasEnum && b.hasEnum && slices.Equal(a.types, b.types) {
		joined := *a
		joined.enum = slices.Clone(a.enum)
		have := make(map[string]bool, len(a.enum))
		for _, v := range a.enum {
			have[string(v.raw)] = true
		}
		for _, v := range b.enum {
			if !have[string(v.raw)] {
				joined.enum = append(joined.enum, v)
			}
		}
		return &joined
	}
	if len(a.anyOf) > 0 && len(a.types) == 0 && a.desc == "" {
		return &node{anyOf: append(slices.Clone(a.anyOf), b)}
	}
	return &node{anyOf: []*node{a, b}}
}
