package lower

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
)

// maxBound is the largest length or count for a grammar: Ollama's runner crashes on larger ones.
const maxBound = 2000

// ForFormat rewrites a schema to what Ollama's grammar accepts as an answer's format, without
// what its server rejects, crashes on or hangs on: no pattern, no reference, lengths of at most
// 2000, no minimum above its maximum. The root may be of any type. The grammar has no place for
// descriptions, so losses are not described; check the answer against the original schema.
//
// Errors are of kind [ErrInvalid] or [ErrTooLarge].
func ForFormat(raw json.RawMessage) (json.RawMessage, error) {
	root, _, err := normalise(raw)
	if err != nil {
		return nil, err
	}
	root.prune()
	return format{}.node(nil, root), nil
}

// ForFormatObject is [ForFormat] for a tool's arguments: the root becomes an object, as in
// [ForOllama], and wrapped means that [Unwrap] must undo it.
func ForFormatObject(raw json.RawMessage) (schema json.RawMessage, wrapped bool, err error) {
	root, notes, err := normalise(raw)
	if err != nil {
		return nil, false, err
	}
	root, wrapped, err = asObject(root, &notes)
	if err != nil {
		return nil, false, err
	}
	root.prune()
	return format{}.node(nil, root), wrapped, nil
}

// format writes nodes for a grammar.
type format struct{}

func (f format) node(b []byte, n *node) []byte {
	switch {
	case n.hasEnum && len(n.enum) > 0:
		return append(appendValues(append(b, `{"enum":`...), n.enum), '}')
	case len(n.anyOf) > 0 && len(n.props) == 0:
		return append(f.list(append(b, `{"anyOf":`...), n.anyOf), '}')
	case len(n.types) > 1:
		branches := make([]*node, len(n.types))
		for i, t := range n.types {
			one := *n
			one.types, one.anyOf = []string{t}, nil
			branches[i] = &one
		}
		return append(f.list(append(b, `{"anyOf":`...), branches), '}')
	case len(n.types) == 0:
		return append(b, `{}`...)
	}
	b = append(b, `{"type":`...)
	b = appendString(b, n.types[0])
	switch n.types[0] {
	case "object":
		b = f.object(b, n)
	case "array":
		if n.items != nil && !n.items.never {
			b = f.node(append(b, `,"items":`...), n.items)
			b = f.bounds(b, n, "minItems", "maxItems", 0, maxBound)
		}
	case "string":
		b = f.text(b, n)
	case "integer":
		b = f.bounds(b, n, "minimum", "maximum", -1e15, 1e15)
	}
	return append(b, '}')
}

func (f format) list(b []byte, nodes []*node) []byte {
	b = append(b, '[')
	for i, n := range nodes {
		if i > 0 {
			b = append(b, ',')
		}
		b = f.node(b, n)
	}
	return append(b, ']')
}

func (f format) object(b []byte, n *node) []byte {
	if len(n.props) > 0 {
		b = append(b, `,"properties":{`...)
		for i, p := range n.props {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendString(b, p.name), ':')
			b = f.node(b, p.node)
		}
		b = append(b, '}')
	}
	if len(n.required) > 0 {
		b = appendStrings(append(b, `,"required":`...), n.required)
	}
	switch {
	case n.others != nil:
		b = f.node(append(b, `,"additionalProperties":`...), n.others)
	case n.closed:
		b = append(b, `,"additionalProperties":false`...)
	}
	return b
}

// text writes the grammar's keywords of a string: a known format or lengths.
func (f format) text(b []byte, n *node) []byte {
	for _, m := range n.keep {
		if m.key == "format" && slices.Contains([]string{"uuid", "date", "time", "date-time"}, m.val.str) {
			return appendString(append(b, `,"format":`...), m.val.str)
		}
	}
	return f.bounds(b, n, "minLength", "maxLength", 0, maxBound)
}

// bounds writes a pair of limits that lie within low and high and do not cross.
func (f format) bounds(b []byte, n *node, minKey, maxKey string, low, high float64) []byte {
	least, hasLeast := n.number(minKey)
	most, hasMost := n.number(maxKey)
	least, most = math.Ceil(least), math.Floor(most)
	hasLeast = hasLeast && least > low && least <= high
	hasMost = hasMost && most >= low && most <= high
	if hasLeast && hasMost && least > most {
		return b
	}
	if hasLeast {
		b = append(b, `,"`+minKey+`":`...)
		b = strconv.AppendInt(b, int64(least), 10)
	}
	if hasMost {
		b = append(b, `,"`+maxKey+`":`...)
		b = strconv.AppendInt(b, int64(most), 10)
	}
	return b
}

// number reads a numeric keyword.
func (n *node) number(key string) (float64, bool) {
	for _, m := range n.keep {
		if m.key == key {
			f, err := strconv.ParseFloat(string(m.val.raw), 64)
			return f, err == nil
		}
	}
	return 0, false
}
