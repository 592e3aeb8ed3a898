package toolhandler

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"molar/schemas"
	"molar/schemas/lower"
)

// maxMended bounds how often a schema is compiled without what is wrong with it.
const maxMended = 8

// lenientSchema compiles the input schema of a tool without what cannot be used of it: references that lead
// nowhere, or out of it, and keywords with values that no schema has. There everything is accepted, since the
// server checks its arguments as well; all else holds. So does a schema that is too large to be compiled.
// left names what was left out.
func lenientSchema(raw json.RawMessage) (schema *Schema, left []string, err error) {
	if schema, left, err = mendedSchema(raw); errors.Is(err, errTooLarge) {
		schema, err = compile(true)
		return schema, []string{"the whole schema is too large to be checked"}, err
	}
	return schema, left, err
}

func mendedSchema(raw json.RawMessage) (schema *Schema, left []string, err error) {
	if len(raw) > lower.MaxInput {
		return nil, nil, errTooLarge
	}
	whole, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, nil, err
	}
	if effort(whole) > maxEffort {
		return nil, nil, errTooLarge
	}
	local, lost := lower.Local(raw)
	for _, ref := range lost {
		left = append(left, "the reference "+strconv.Quote(ref)+" leads nowhere in the schema")
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(local))
	if err != nil {
		return nil, nil, err
	}
	takeNulls(doc)
	for tries := 1; tries <= maxMended; tries++ {
		if steps := effort(doc); tries*steps*steps > maxEffort*maxEffort {
			return nil, nil, errTooLarge
		}
		if schema, err = compile(doc); err == nil {
			return schema, left, nil
		}
		places := without(&doc, err)
		if len(places) == 0 {
			return nil, nil, err
		}
		for _, place := range places {
			left = append(left, place+" has a value that no schema has")
		}
	}
	return nil, nil, err
}

// takeNulls lets the parts of a schema that are nullable, as OpenAPI says it, take null: models are told so too.
func takeNulls(part any) {
	switch part := part.(type) {
	case []any:
		for _, inner := range part {
			takeNulls(inner)
		}
	case map[string]any:
		for key, inner := range part {
			named, _ := inner.(map[string]any)
			switch {
			case lower.HoldsValues(key):
			case lower.HoldsNamed(key):
				for _, one := range named {
					takeNulls(one)
				}
			default:
				takeNulls(inner)
			}
		}
		types, _ := part["type"].([]any)
		if name, isOne := part["type"].(string); isOne {
			types = []any{name}
		}
		if part["nullable"] == true && len(types) > 0 && !slices.Contains(types, any("null")) {
			part["type"] = append(types, "null")
		}
	}
}

// Unchecked says what of a tool's schema calls are not checked against, as it cannot be used.
func Unchecked(tool schemas.Tool) []string {
	if len(bytes.TrimSpace(tool.InputSchema)) == 0 {
		return nil
	}
	_, left, err := lenientSchema(tool.InputSchema)
	if err != nil {
		return []string{"the schema cannot be used, so that no call is possible: " + err.Error()}
	}
	for i, what := range left {
		left[i] = what + ": that part accepts anything"
	}
	return left
}

// without removes from a schema what it could not be compiled for, and returns the places.
func without(doc *any, fault error) (places []string) {
	root, _ := (*doc).(map[string]any)
	invalid, ok := errors.AsType[*jsonschema.SchemaValidationError](fault)
	if !ok { // a dialect or an id that nothing is known of
		for _, key := range []string{"$schema", "$id"} {
			if _, has := root[key]; has {
				delete(root, key)
				places = append(places, "/"+key)
			}
		}
		return places
	}
	faults, ok := errors.AsType[*jsonschema.ValidationError](invalid.Err)
	if !ok {
		return nil
	}
	var leaves []*jsonschema.ValidationError
	var walk func(*jsonschema.ValidationError)
	walk = func(fault *jsonschema.ValidationError) {
		for _, cause := range fault.Causes {
			walk(cause)
		}
		if len(fault.Causes) == 0 {
			leaves = append(leaves, fault)
		}
	}
	walk(faults)
	// They come in no order, as objects are walked through.
	slices.SortFunc(leaves, func(a, b *jsonschema.ValidationError) int {
		return slices.Compare(a.InstanceLocation, b.InstanceLocation)
	})
	part, seen := pointer(invalid.URL), map[string]bool{"": true}
	for _, fault := range leaves {
		wrong, isType := fault.ErrorKind.(*kind.Type)
		isSchema := isType && slices.Contains(wrong.Want, "object") && slices.Contains(wrong.Want, "boolean")
		if place := cutOut(root, slices.Concat(part, fault.InstanceLocation), isSchema); !seen[place] {
			seen[place] = true
			places = append(places, place)
		}
	}
	return places
}

// pointer returns the steps of the JSON pointer in an address: of the part of a schema that was found to be none,
// where a reference leads to it.
func pointer(address string) []string {
	_, fragment, _ := strings.Cut(address, "#")
	path, err := url.PathUnescape(fragment)
	if err != nil || !strings.HasPrefix(path, "/") {
		return nil
	}
	steps := strings.Split(path[1:], "/")
	for i, step := range steps {
		steps[i] = strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
	}
	return steps
}

// cutOut removes a keyword from a schema by its location, or makes what should be a schema one that accepts
// everything. It returns the place of what it changed.
func cutOut(root map[string]any, location []string, isSchema bool) string {
	if len(location) == 0 || root == nil {
		return ""
	}
	var parent any = root
	for _, step := range location[:len(location)-1] {
		switch p := parent.(type) {
		case map[string]any:
			parent = p[step]
		case []any:
			n, err := strconv.Atoi(step)
			if err != nil || n < 0 || n >= len(p) {
				return ""
			}
			parent = p[n]
		default:
			return "" // what it is in was cut out
		}
	}
	last := location[len(location)-1]
	switch p := parent.(type) {
	case map[string]any:
		if _, has := p[last]; !has {
			return ""
		}
		if delete(p, last); isSchema {
			p[last] = true
		}
	case []any:
		n, err := strconv.Atoi(last)
		if !isSchema || err != nil || n < 0 || n >= len(p) {
			return cutOut(root, location[:len(location)-1], false)
		}
		p[n] = true
	default:
		return ""
	}
	return "/" + strings.Join(location, "/")
}
