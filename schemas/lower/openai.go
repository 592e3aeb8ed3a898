package lower

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
)

// strictDepth bounds the nesting of a strict schema: OpenAI rejects deeper ones.
const strictDepth = 5

// MaxOpenAIDescription is the longest description of a function that OpenAI's API takes, in characters.
const MaxOpenAIDescription = 1024

// ForOpenAI lowers a tool's input schema to what OpenAI and the servers with its API accept: an
// object at the root, only plain keywords below it, and the bounds and formats that the servers'
// grammars support. Descriptions state the rest. The schema is not strict.
//
// Errors are of kind [ErrInvalid] or [ErrTooLarge].
func ForOpenAI(raw json.RawMessage) (Result, error) {
	root, notes, err := normalise(raw)
	if err != nil {
		return Result{}, err
	}
	root, wrapped, err := asObject(root, &notes)
	if err != nil {
		return Result{}, err
	}
	return openai{}.parameters(root, len(raw), notes, wrapped), nil
}

// parameters writes the schema of a function's parameters, which was made of size bytes.
func (o openai) parameters(root *node, size int, notes []string, wrapped bool) Result {
	root.prune()
	b := make([]byte, 0, size+size/4+64)
	b = append(b, `{"type":"object"`...)
	b = append(o.object(b, root), '}')
	_, facts := o.split(root)
	return Result{Schema: b, Hint: describe(root.desc, facts), Notes: notes, Wrapped: wrapped}
}

// ForOpenAIAnswer lowers the schema of an answer for response_format. The root may be of any
// type. strict reports whether the schema meets the conditions under which OpenAI guarantees the
// form: objects are closed, all their properties required, and no other constraint is named.
//
// Errors are of kind [ErrInvalid] or [ErrTooLarge].
func ForOpenAIAnswer(raw json.RawMessage) (schema json.RawMessage, strict bool, err error) {
	root, _, err := normalise(raw)
	if err != nil {
		return nil, false, err
	}
	root.prune()
	strict = len(root.types) == 1 && root.accepts("object") && root.strict(strictDepth)
	return openai{}.node(nil, root), strict, nil
}

// strict reports whether OpenAI accepts the node in a strict schema.
func (n *node) strict(depth int) bool {
	switch {
	case depth < 0, len(n.keep) > 0, n.others != nil, n.never,
		n.hasEnum && len(n.enum) == 0,
		len(n.types) == 0 && len(n.anyOf) == 0,
		len(n.types) > 0 && len(n.anyOf) > 0,
		n.accepts("object") && (!n.closed || len(n.required) != len(n.props)),
		n.accepts("array") && (n.items == nil || !n.items.strict(depth-1)):
		return false
	}
	for _, p := range n.props {
		if !p.node.strict(depth - 1) {
			return false
		}
	}
	return !slices.ContainsFunc(n.anyOf, func(b *node) bool { return !b.strict(depth - 1) })
}

// openai writes nodes in the dialect of OpenAI's API.
type openai struct {
	// unbounded omits bounds.
	unbounded bool
}

func (o openai) node(b []byte, n *node) []byte {
	start := len(b)
	written, facts := o.split(n)
	if n.isAny() && n.desc == "" && len(facts) == 0 {
		return append(b, `{"description":"any JSON value"}`...)
	}
	// Every part begins with a comma; the first one becomes the brace.
	if len(n.anyOf) > 0 {
		b = append(b, `,"anyOf":`...)
		b = o.list(b, n.anyOf)
	}
	switch len(n.types) {
	case 0:
	case 1:
		b = appendString(append(b, `,"type":`...), n.types[0])
	default:
		b = appendStrings(append(b, `,"type":`...), n.types)
	}
	if text := describe(n.desc, facts); text != "" {
		b = appendString(append(b, `,"description":`...), text)
	}
	if len(n.enum) > 0 {
		b = appendValues(append(b, `,"enum":`...), n.enum)
	}
	for _, m := range written {
		b = appendString(append(b, ','), m.key)
		b = append(append(b, ':'), m.val.raw...)
	}
	b = o.items(b, n)
	if len(n.props) > 0 || n.others != nil || n.closed {
		b = o.object(b, n)
	}
	if len(b) == start {
		b = append(b, ',')
	}
	b[start] = '{'
	return append(b, '}')
}

// items appends the schema of an array's elements. OpenAI rejects an array without one.
func (o openai) items(b []byte, n *node) []byte {
	switch {
	case n.items != nil && !n.items.never:
		return o.node(append(b, `,"items":`...), n.items)
	case n.accepts("array"):
		return append(b, `,"items":{}`...)
	}
	return b
}

// object appends the keywords of an object, each with a comma before it.
func (o openai) object(b []byte, n *node) []byte {
	b = append(b, `,"properties":{`...)
	for i, p := range n.props {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendString(b, p.name), ':')
		b = o.node(b, p.node)
	}
	b = append(b, '}')
	if len(n.required) > 0 {
		b = appendStrings(append(b, `,"required":`...), n.required)
	}
	switch {
	case n.closed, n.others != nil && n.others.never:
		b = append(b, `,"additionalProperties":false`...)
	case n.others != nil:
		b = o.node(append(b, `,"additionalProperties":`...), n.others)
	}
	return b
}

func (o openai) list(b []byte, nodes []*node) []byte {
	b = append(b, '[')
	for i, n := range nodes {
		if i > 0 {
			b = append(b, ',')
		}
		b = o.node(b, n)
	}
	return append(b, ']')
}

// split splits the constraints of a node into keywords to write and facts for the description.
func (o openai) split(n *node) (written []member, facts []string) {
	rest := *n
	rest.keep, rest.others = nil, nil
	for _, m := range n.keep {
		again := func(w member) bool { return w.key == m.key }
		if o.takes(n, m) && !slices.ContainsFunc(written, again) {
			written = append(written, m)
		} else {
			rest.keep = append(rest.keep, m)
		}
	}
	if n.items != nil && n.items.never {
		facts = append(facts, "always empty")
	}
	if n.hasEnum && len(n.enum) == 0 {
		facts = append(facts, "no value is valid")
	}
	return written, append(facts, rest.facts(nil)...)
}

// takes reports whether a keyword can be written. The grammars of local servers fail on patterns,
// on unknown formats, and on bounds that are huge or that cross.
func (o openai) takes(n *node, m member) bool {
	if m.key == "format" {
		return slices.Contains([]string{"uuid", "date", "time", "date-time"}, m.val.str)
	}
	if o.unbounded {
		return false
	}
	other, isBound := strings.CutPrefix(m.key, "min")
	low, high := "min"+other, "max"+other
	if !isBound {
		if other, isBound = strings.CutPrefix(m.key, "max"); !isBound {
			return false
		}
		low, high = "min"+other, "max"+other
	}
	least, hasLeast := n.number(low)
	most, hasMost := n.number(high)
	if hasLeast && hasMost && least > most {
		return false
	}
	value, err := strconv.ParseFloat(string(m.val.raw), 64)
	if err != nil {
		return false
	}
	switch other {
	case "imum":
		return math.Abs(value) <= 1e15
	case "Length", "Items":
		return value >= 0 && value <= maxBound && value == math.Trunc(value)
	}
	return false
}
