package lower

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
)

const (
	// geminiDepth is how deep a schema may nest: the service refuses deeper ones
	// without naming its limit.
	geminiDepth = 12
	// geminiItems is the largest count of items that is written as a keyword. Larger
	// ones make a set of tools "too complex to serve".
	geminiItems = 100
)

// ForGemini lowers a tool's input schema to the keywords that Gemini's
// parametersJsonSchema documents: type, description, format (date-time), enum of
// strings or of numbers, items, minItems, maxItems, minimum, maximum, anyOf
// (standing alone), properties, additionalProperties and required. All else is
// said in descriptions. A schema without arguments becomes {"type":"object"}.
//
// Errors are of kind [ErrInvalid] or [ErrTooLarge].
func ForGemini(raw json.RawMessage) (Result, error) {
	root, notes, err := normalise(raw)
	if err != nil {
		return Result{}, err
	}
	root, wrapped, err := asObject(root, &notes)
	if err != nil {
		return Result{}, err
	}
	root.prune()
	// What holds of the arguments as a whole belongs to the tool's description.
	whole, bare := *root, *root
	whole.others = nil // written as a keyword
	hint := describe(whole.desc, whole.facts(nil))
	bare.desc, bare.hints, bare.keep = "", nil, nil
	b := gemini{}.node(make([]byte, 0, len(raw)+len(raw)/4+64), &bare, 0)
	return Result{Schema: b, Hint: hint, Notes: notes, Wrapped: wrapped}, nil
}

// ForGeminiAnswer lowers a schema that an answer must follow, for
// responseJsonSchema. The root may be of any type.
//
// Errors are of kind [ErrInvalid] or [ErrTooLarge].
func ForGeminiAnswer(raw json.RawMessage) (json.RawMessage, error) {
	root, _, err := normalise(raw)
	if err != nil {
		return nil, err
	}
	root.prune()
	return gemini{}.node(nil, root, 0), nil
}

// gemini writes nodes in Gemini's dialect.
type gemini struct{}

func (g gemini) node(b []byte, n *node, depth int) []byte {
	n, facts := g.fit(n)
	if depth > geminiDepth {
		return g.leaf(b, n)
	}
	if len(n.anyOf) > 0 {
		return g.union(b, n, facts, depth)
	}
	b = append(b, '{')
	b = g.types(b, n.types)
	b, written := g.keywords(b, n)
	plain := *n
	plain.others = nil // written below
	if text := describe(n.desc, append(facts, plain.facts(written)...)); text != "" {
		b = appendString(g.key(b, "description"), text)
	} else if len(n.types) == 0 && !n.hasEnum {
		b = appendString(g.key(b, "description"), "any JSON value")
	}
	if len(n.enum) > 0 {
		b = appendValues(g.key(b, "enum"), n.enum)
	}
	if n.accepts("array") {
		b = g.items(b, n, depth)
	}
	return append(g.object(b, n, depth), '}')
}

// fit brings a node into a shape that the dialect can hold, and says what that
// costs. The node itself is not changed.
func (g gemini) fit(n *node) (*node, []string) {
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

// real are the types but null.
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

// fitEnum keeps an enum of strings, or one of numbers. Others are only said.
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
			if v.str == "" { // the service refuses it in a list
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

// union writes alternatives: they must stand alone, so what is said beside them
// goes into the first.
func (g gemini) union(b []byte, n *node, facts []string, depth int) []byte {
	said := *n
	said.others = nil
	text := describe(n.desc, append(facts, said.facts(nil)...))
	branches := n.anyOf
	if n.accepts("null") && !slices.ContainsFunc(branches, func(m *node) bool { return m.accepts("null") }) {
		branches = append(slices.Clone(branches), &node{types: []string{"null"}})
	}
	b = append(b, `{"anyOf":[`...)
	for i, branch := range branches {
		if i > 0 {
			b = append(b, ',')
		}
		one := *branch
		if i == 0 && text != "" {
			one.desc = strings.TrimSpace(text + " " + one.desc)
		}
		if len(one.types) == 0 && len(one.anyOf) == 0 && len(g.real(n.types)) == 1 {
			one.types = n.types
		}
		b = g.node(b, &one, depth+1)
	}
	return append(b, `]}`...)
}

// leaf writes a node below the last level.
func (g gemini) leaf(b []byte, n *node) []byte {
	b = append(b, '{')
	if real := g.real(n.types); len(real) == 1 {
		b = g.types(b, n.types)
	}
	b = appendString(g.key(b, "description"), strings.TrimSpace(n.desc+" (deeper levels are left out: "+cut(shape(n), maxFact)+")"))
	return append(b, '}')
}

func (gemini) key(b []byte, name string) []byte {
	if b[len(b)-1] != '{' {
		b = append(b, ',')
	}
	return append(append(append(b, '"'), name...), `":`...)
}

func (g gemini) types(b []byte, types []string) []byte {
	switch len(types) {
	case 0:
		return b
	case 1:
		return appendString(g.key(b, "type"), types[0])
	}
	return appendStrings(g.key(b, "type"), types)
}

// keywords writes the constraints that the dialect knows, and tells which ones.
func (g gemini) keywords(b []byte, n *node) (out []byte, written func(string) bool) {
	done := map[string]bool{}
	for _, m := range n.keep {
		f, err := strconv.ParseFloat(string(m.val.raw), 64)
		number := err == nil && !done[m.key]
		numeric := n.accepts("number") || n.accepts("integer")
		switch m.key {
		case "format":
			if n.accepts("string") && m.val.str == "date-time" && !done[m.key] {
				b, done[m.key] = appendString(g.key(b, m.key), m.val.str), true
			}
		case "minimum", "maximum":
			if number && numeric {
				b, done[m.key] = append(g.key(b, m.key), m.val.raw...), true
			}
		case "exclusiveMinimum", "exclusiveMaximum":
			// Whole numbers have a neighbour; others keep the words.
			if number && n.accepts("integer") && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
				b, done[m.key] = g.neighbour(b, n, m.key, int64(f)), true
			}
		case "minItems", "maxItems":
			if number && n.accepts("array") && f == math.Trunc(f) && f >= 0 && f <= geminiItems {
				b, done[m.key] = append(g.key(b, m.key), m.val.raw...), true
			}
		}
	}
	return b, func(key string) bool { return done[key] }
}

// neighbour writes an exclusive bound of a whole number as an inclusive one,
// unless the node has that keyword itself.
func (g gemini) neighbour(b []byte, n *node, key string, bound int64) []byte {
	key, bound = strings.Replace(key, "exclusiveM", "m", 1), bound+1
	if key == "maximum" {
		bound -= 2
	}
	if _, have := n.number(key); have {
		return b
	}
	return strconv.AppendInt(g.key(b, key), bound, 10)
}

func (g gemini) items(b []byte, n *node, depth int) []byte {
	b = g.key(b, "items")
	if n.items == nil || n.items.never {
		return append(b, `{}`...)
	}
	return g.node(b, n.items, depth+1)
}

func (g gemini) object(b []byte, n *node, depth int) []byte {
	if len(n.props) > 0 {
		b = append(g.key(b, "properties"), '{')
		for i, p := range n.props {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendString(b, p.name), ':')
			b = g.node(b, p.node, depth+1)
		}
		b = append(b, '}')
	}
	if len(n.required) > 0 {
		b = appendStrings(g.key(b, "required"), n.required)
	}
	switch {
	case n.others != nil:
		b = g.node(g.key(b, "additionalProperties"), n.others, depth+1)
	case n.closed && len(n.props) > 0:
		b = append(g.key(b, "additionalProperties"), "false"...)
	}
	return b
}
