package lower

import (
	"encoding/json"
	"slices"
	"strings"
)

// maxKey is the longest name of a parameter that Anthropic accepts.
const maxKey = 64

// ForAnthropic lowers a tool's input schema to what Anthropic accepts: an object at the root without
// alternatives, whose properties have names of letters, digits and "_.-", at most 64. A schema with
// other names is offered as the property "input", below which any name is valid. Otherwise the result
// is that of [ForOpenAI]. The service has no page of these rules; its refusals name them.
//
// Errors are of kind [ErrInvalid] or [ErrTooLarge].
func ForAnthropic(raw json.RawMessage) (Result, error) {
	root, notes, err := normalise(raw)
	if err != nil {
		return Result{}, err
	}
	root, wrapped, err := asObject(root, &notes)
	if err != nil {
		return Result{}, err
	}
	if slices.ContainsFunc(root.props, func(p property) bool { return !isAnthropicKey(p.name) }) {
		notes = append(notes, "schema: has names that the service refuses; it is offered as the property \""+wrapName+"\"")
		root = &node{types: []string{"object"}, props: []property{{wrapName, root}}, required: []string{wrapName}}
		wrapped = true
	}
	return openai{}.parameters(root, len(raw), notes, wrapped), nil
}

func isAnthropicKey(name string) bool {
	return name != "" && len(name) <= maxKey && !strings.ContainsFunc(name, func(r rune) bool {
		return r != '_' && r != '.' && r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
}

// ForAnthropicAnswer lowers the schema of an answer for output_config.format, see
// https://platform.claude.com/docs/en/build-with-claude/structured-outputs: all objects are closed,
// and bounds are described only. kept is false, and the schema empty, if it accepts values that the
// service cannot be asked for: maps, any value, lists of anything.
//
// Errors are of kind [ErrInvalid] or [ErrTooLarge].
func ForAnthropicAnswer(raw json.RawMessage) (schema json.RawMessage, kept bool, err error) {
	root, _, err := normalise(raw)
	if err != nil {
		return nil, false, err
	}
	root.prune()
	if !root.close() {
		return nil, false, nil
	}
	return openai{unbounded: true}.node(nil, root), true, nil
}

// close closes all objects, and reports whether every node then names the values that it accepts.
func (n *node) close() bool {
	switch {
	case n.never, n.others != nil && !n.others.never,
		len(n.types) == 0 && len(n.anyOf) == 0 && len(n.enum) == 0,
		len(n.types) > 0 && len(n.anyOf) > 0,
		n.hasEnum && len(n.enum) == 0,
		n.accepts("array") && n.items == nil:
		return false
	}
	if n.accepts("object") {
		n.closed = true
	}
	if n.items != nil && !n.items.close() {
		return false
	}
	for _, p := range n.props {
		if !p.node.close() {
			return false
		}
	}
	return !slices.ContainsFunc(n.anyOf, func(b *node) bool { return !b.close() })
}
