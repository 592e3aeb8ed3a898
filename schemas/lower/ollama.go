package lower

import (
	"encoding/json"
	"strings"
)

// ForOllama lowers a tool's input schema to what Ollama's server keeps: type, properties,
// required at the top, and for each property type, items, description, enum, properties and
// anyOf. Descriptions state the rest.
//
// Errors are of kind [ErrInvalid] or [ErrTooLarge].
func ForOllama(raw json.RawMessage) (Result, error) {
	root, notes, err := normalise(raw)
	if err != nil {
		return Result{}, err
	}
	root, wrapped, err := asObject(root, &notes)
	if err != nil {
		return Result{}, err
	}
	root.prune()
	b := make([]byte, 0, len(raw)+len(raw)/4+64)
	b = append(b, `{"type":"object"`...)
	if len(root.required) > 0 {
		b = append(b, `,"required":`...)
		b = appendStrings(b, root.required)
	}
	b = append(b, `,"properties":`...)
	b = ollama{}.props(b, root.props, false)
	b = append(b, '}')
	hint := describe(root.desc, root.facts(nil))
	return Result{Schema: b, Hint: hint, Notes: notes, Wrapped: wrapped}, nil
}

// ollama writes nodes in Ollama's dialect, keys in the order of its own types.
type ollama struct{}

// node appends a property's schema. Below items the server keeps everything, so
// required can be written there instead of described.
func (o ollama) node(b []byte, n *node, inItems bool) []byte {
	start := len(b)
	b = append(b, '{')
	key := func(name string) {
		if len(b) > start+1 {
			b = append(b, ',')
		}
		b = append(b, '"')
		b = append(b, name...)
		b = append(b, `":`...)
	}
	if len(n.anyOf) > 0 {
		key("anyOf")
		b = append(b, '[')
		for i, branch := range n.anyOf {
			if i > 0 {
				b = append(b, ',')
			}
			b = o.node(b, branch, inItems)
		}
		b = append(b, ']')
	}
	switch len(n.types) {
	case 0:
	case 1:
		key("type")
		b = appendString(b, n.types[0])
	default:
		key("type")
		b = appendStrings(b, n.types)
	}
	if n.items != nil && !n.items.never {
		key("items")
		b = o.node(b, n.items, true)
	}
	if text := o.text(n, inItems); text != "" {
		key("description")
		b = appendString(b, text)
	}
	if len(n.enum) > 0 {
		key("enum")
		b = appendValues(b, n.enum)
	}
	if len(n.props) > 0 {
		key("properties")
		b = o.props(b, n.props, inItems)
	}
	if inItems && len(n.required) > 0 && len(n.props) > 0 {
		key("required")
		b = appendStrings(b, n.required)
	}
	return append(b, '}')
}

func (o ollama) props(b []byte, props []property, inItems bool) []byte {
	b = append(b, '{')
	for i, p := range props {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(b, p.name)
		b = append(b, ':')
		b = o.node(b, p.node, inItems)
	}
	return append(b, '}')
}

// text returns the description with everything that the dialect has no keyword for.
func (o ollama) text(n *node, inItems bool) string {
	var facts []string
	if len(n.required) > 0 && !inItems && len(n.props) > 0 {
		facts = append(facts, "required: "+strings.Join(n.required, ", "))
	}
	if n.closed {
		facts = append(facts, when(len(n.props) > 0, "no other properties")+when(len(n.props) == 0, "no properties"))
	}
	if n.items != nil && n.items.never {
		facts = append(facts, "always empty")
	}
	if n.hasEnum && len(n.enum) == 0 {
		facts = append(facts, "no value is valid")
	}
	facts = append(facts, n.facts(nil)...)
	if n.desc == "" && len(facts) == 0 && len(n.types) == 0 && len(n.anyOf) == 0 {
		return "any JSON value"
	}
	return describe(n.desc, facts)
}

func appendValues(b []byte, values []value) []byte {
	b = append(b, '[')
	for i, v := range values {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, v.raw...)
	}
	return append(b, ']')
}
