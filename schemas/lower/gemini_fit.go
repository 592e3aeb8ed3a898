package lower

import (
	"slices"
	"strings"
)

// fit returns a node in a shape that the dialect supports, and what that loses. It does not
// change n.
func (g gemini) fit(n *node) (*node, []string) {
	if !n.hasEnum && len(n.anyOf) == 0 && len(n.types) < 2 {
		return n, nil
	}
	fitted := *n
	var facts []string
	if fitted.hasEnum {
		facts = g.fitEnum(&fitted)
	}
	if len(fitted.anyOf) > 0 && (len(fitted.props) > 0 || fitted.items != nil || len(fitted.enum) > 0) {
		if objects(fitted.anyOf) && fitted.items == nil && len(fitted.enum) == 0 {
			fitted.types = []string{"object"}
			fitted.props, fitted.required = slices.Clone(fitted.props), slices.Clone(fitted.required)
			fitted.hints = slices.Clone(fitted.hints)
			fitted.flatten()
		} else {
			facts = append(facts, "also one of: "+cut(shape(&node{anyOf: fitted.anyOf}), maxFact))
			fitted.anyOf = nil
		}
	}
	if real := g.real(fitted.types); len(real) > 1 && len(fitted.anyOf) == 0 {
		fitted.anyOf = g.perType(&fitted, real)
		fitted.types, fitted.enum, fitted.hasEnum = nil, nil, false
		fitted.props, fitted.items, fitted.others, fitted.closed = nil, nil, nil, false
		fitted.keep = nil
	}
	return &fitted, facts
}

// real returns the types except null.
func (gemini) real(types []string) []string {
	return slices.DeleteFunc(slices.Clone(types), func(t string) bool { return t == "null" })
}

// perType splits a node of several types into alternatives of one type each.
func (g gemini) perType(n *node, types []string) []*node {
	nullable := len(types) < len(n.types)
	branches := make([]*node, 0, len(types)+1)
	for _, t := range types {
		branch := node{types: []string{t}}
		for _, v := range n.enum {
			if got := v.typeName(); got == t || got == "integer" && t == "number" {
				branch.enum, branch.hasEnum = append(branch.enum, v), true
			}
		}
		for _, m := range n.keep {
			if like := impliedBy(m.key); like == t || like == "number" && t == "integer" || like == "" && len(branches) == 0 {
				branch.keep = append(branch.keep, m)
			}
		}
		switch t {
		case "object":
			branch.props, branch.required, branch.others, branch.closed = n.props, n.required, n.others, n.closed
		case "array":
			branch.items = n.items
		}
		branches = append(branches, &branch)
	}
	if nullable {
		branches = append(branches, &node{types: []string{"null"}})
	}
	return branches
}

// fitEnum keeps an enum of strings, or one of numbers. It only describes others.
func (g gemini) fitEnum(n *node) (facts []string) {
	var strs, nums, other int
	values := make([]value, 0, len(n.enum))
	for _, v := range n.enum {
		switch v.typeName() {
		case "null":
			if !n.accepts("null") && len(n.types) > 0 {
				n.types = append(slices.Clone(n.types), "null")
			}
			continue
		case "string":
			if v.str == "" { // the service rejects it in a list
				facts = append(facts, "may be empty")
				continue
			}
			strs++
		case "integer", "number":
			nums++
		default:
			other++
		}
		values = append(values, v)
	}
	mixed := other > 0 || strs > 0 && nums > 0
	switch {
	case len(n.enum) == 0:
		facts = append(facts, "no value is valid")
	case mixed && len(g.real(n.types)) < 2:
		var all []string
		for _, v := range n.enum[:min(len(n.enum), maxFacts)] {
			all = append(all, cut(string(v.raw), 40))
		}
		facts = append(facts, "one of: "+cut(strings.Join(all, ", "), maxFact))
		values = nil
	}
	n.enum, n.hasEnum = values, len(values) > 0
	return facts
}
