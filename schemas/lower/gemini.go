package lower

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
)

const (
	// geminiDepth bounds the nesting of a schema: the service rejects deeper ones without naming
	// its limit.
	geminiDepth = 12
	// geminiItems is the largest count of items that is written as a keyword. Larger ones make a
	// set of tools "too complex to serve".
	geminiItems = 100
)

// ForGemini lowers a tool's input schema to the keywords that Gemini's parametersJsonSchema
// documents: type, description, format (date-time), enum of strings or of numbers, items,
// minItems, maxItems, minimum, maximum, anyOf (standing alone), properties, additionalProperties
// and required. Descriptions state the rest. A schema without arguments becomes
// {"type":"object"}.
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
	// Facts about the arguments as a whole belong in the tool's description.
	hint := describe(root.desc, gemini{}.facts(root, nil))
	bare := *root
	bare.desc, bare.hints, bare.keep = "", nil, nil
	b := gemini{}.node(make([]byte, 0, len(raw)+len(raw)/4+64), &bare, 0)
	return Result{Schema: b, Hint: hint, Notes: notes, Wrapped: wrapped}, nil
}

// ForGeminiAnswer lowers the schema of an answer for responseJsonSchema. The root may be of any
// type.
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
	if text := describe(n.desc, append(facts, g.facts(n, written)...)); text != "" {
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

// facts describes what the dialect has no keyword for. It writes further properties as a keyword.
func (gemini) facts(n *node, written func(string) bool) []string {
	if n.others == nil {
		return n.facts(written)
	}
	bare := *n
	bare.others = nil
	return bare.facts(written)
}

// union writes alternatives: they must stand alone, so other facts go into the first.
func (g gemini) union(b []byte, n *node, facts []string, depth int) []byte {
	text := describe(n.desc, append(facts, g.facts(n, nil)...))
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

// keywords writes the constraints that the dialect supports, and reports which.
func (g gemini) keywords(b []byte, n *node) (out []byte, written func(string) bool) {
	var done []string
	for _, m := range n.keep {
		before := len(b)
		if !slices.Contains(done, m.key) {
			b = g.keyword(b, n, m)
		}
		if len(b) > before {
			done = append(done, m.key)
		}
	}
	if len(done) == 0 {
		return b, nil
	}
	return b, func(key string) bool { return slices.Contains(done, key) }
}

// keyword writes one constraint, if the dialect has a keyword for it.
func (g gemini) keyword(b []byte, n *node, m member) []byte {
	switch m.key {
	case "format":
		if n.accepts("string") && m.val.str == "date-time" {
			return appendString(g.key(b, m.key), m.val.str)
		}
		return b
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minItems", "maxItems":
	default:
		return b
	}
	f, err := strconv.ParseFloat(string(m.val.raw), 64)
	whole := f == math.Trunc(f) && math.Abs(f) < 1<<53
	switch {
	case err != nil:
		return b
	case strings.HasSuffix(m.key, "Items"):
		if !n.accepts("array") || !whole || f < 0 || f > geminiItems {
			return b
		}
	case strings.HasPrefix(m.key, "exclusive"):
		// Only an integer bound has an inclusive neighbour; others stay in words.
		if !n.accepts("integer") || !whole {
			return b
		}
		return g.neighbour(b, n, m.key, int64(f))
	case !n.accepts("number") && !n.accepts("integer"):
		return b
	}
	return append(g.key(b, m.key), m.val.raw...)
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
