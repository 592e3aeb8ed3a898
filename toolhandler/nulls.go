package toolhandler

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"molar/schemas"
)

// WithoutNulls returns a call without those of its arguments that are null where the tool's schema takes no
// null and does not require them: models write them for arguments that they do not give. A null of a
// required argument stays, so that the model is told of it. All that becomes of a call is about what this
// returns: what is shown, asked about, recorded and sent.
func (t *Turn) WithoutNulls(call schemas.ToolCall) schemas.ToolCall {
	tool, known := t.Lookup(call.Function.Name)
	args, err := parseArguments(call.Function.Arguments)
	if !known || err != nil {
		return call
	}
	if kept, dropped := t.h.inputs.withoutNulls(tool, args); dropped {
		call.Function.Arguments = string(kept)
	}
	return call
}

func (t *Turn) withoutNulls(calls []schemas.ToolCall) []schemas.ToolCall {
	kept := make([]schemas.ToolCall, len(calls))
	for i, call := range calls {
		kept[i] = t.WithoutNulls(call)
	}
	return kept
}

// withoutNulls returns arguments without the nulls that their tool's schema neither takes nor requires, and
// whether there were any.
func (v *inputs) withoutNulls(tool schemas.Tool, args json.RawMessage) (kept json.RawMessage, dropped bool) {
	if !bytes.Contains(args, []byte("null")) || len(bytes.TrimSpace(tool.InputSchema)) == 0 {
		return args, false
	}
	all := membersOf(args)
	if !slices.ContainsFunc(all, func(m member) bool { return m.isNull }) {
		return args, false
	}
	schema, err := v.get(tool).compile()
	if err != nil {
		return args, false
	}
	for { // a value may be refused only without another one
		refused, _ := schema.refuses(args)
		without := func(required []string) []member {
			return slices.DeleteFunc(slices.Clone(all), func(m member) bool {
				return m.isNull && slices.Contains(refused, m.name) && !slices.Contains(required, m.name)
			})
		}
		_, missing := schema.refuses(object(without(nil)))
		rest := without(missing)
		if len(rest) == len(all) {
			return args, dropped
		}
		all, args, dropped = rest, object(rest), true
	}
}

// refuses returns the names of the arguments whose values are not accepted, and of those that are missing.
func (s *Schema) refuses(args json.RawMessage) (refused, missing []string) {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(args))
	if err != nil {
		return nil, nil
	}
	fault, ok := errors.AsType[*jsonschema.ValidationError](s.validate(value, len(args)))
	if !ok {
		return nil, nil
	}
	var walk func(*jsonschema.ValidationError)
	walk = func(fault *jsonschema.ValidationError) {
		for _, cause := range fault.Causes {
			walk(cause)
		}
		if _, endless := fault.ErrorKind.(*kind.RefCycle); endless || len(fault.Causes) > 0 {
			return
		}
		if len(fault.InstanceLocation) > 0 {
			refused = append(refused, fault.InstanceLocation[0])
			return
		}
		switch k := fault.ErrorKind.(type) {
		case *kind.AdditionalProperties:
			refused = append(refused, k.Properties...)
		case *kind.Required:
			missing = append(missing, k.Missing...)
		}
	}
	walk(fault)
	return refused, missing
}

// A member is a member of a JSON object.
type member struct {
	name string
	// text is the member as it is written.
	text   []byte
	isNull bool
}

// membersOf returns the members of a JSON object in their order.
func membersOf(object json.RawMessage) []member {
	var all []member
	dec := json.NewDecoder(bytes.NewReader(object))
	_, _ = dec.Token() // the brace of a checked object
	for dec.More() {
		from := dec.InputOffset()
		name, _ := dec.Token()
		var value json.RawMessage
		if dec.Decode(&value) != nil {
			return nil
		}
		text := bytes.TrimLeft(object[from:dec.InputOffset()], ", \t\r\n")
		all = append(all, member{name.(string), text, string(value) == "null"})
	}
	return all
}

// object writes members as a JSON object.
func object(members []member) json.RawMessage {
	b := []byte{'{'}
	for i, m := range members {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, m.text...)
	}
	return append(b, '}')
}
