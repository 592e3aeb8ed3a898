package offer

import (
	"bytes"
	"encoding/json"
	"slices"

	"molar/schemas"
	"molar/schemas/lower"
)

// maxDepth is how deep an outline shows optional arguments.
const maxDepth = 4

// outline describes the arguments of a tool within most bytes: all of them, or the required ones
// and the least deep of the others. It is empty if even that does not fit.
func outline(t schemas.ToolInfo, most int) string {
	heading := "Arguments of " + t.Name + ":\n"
	lowered, err := lower.ForOpenAI(t.InputSchema) // resolves its references
	if err != nil {
		return ""
	}
	if text := heading + string(lowered.Schema); len(text) <= most {
		return text
	}
	decoder := json.NewDecoder(bytes.NewReader(lowered.Schema))
	decoder.UseNumber()
	var schema map[string]any
	if decoder.Decode(&schema) != nil {
		return ""
	}
	heading = "Arguments of " + t.Name + ", without some that are not required:\n"
	for depth := maxDepth; depth >= 0; depth-- {
		var b bytes.Buffer
		encoder := json.NewEncoder(&b)
		encoder.SetEscapeHTML(false)
		if encoder.Encode(shallow(schema, depth)) != nil {
			return ""
		}
		if text := heading + string(bytes.TrimSpace(b.Bytes())); len(text) <= most {
			return text
		}
	}
	return ""
}

// shallow returns a schema without the optional properties below a depth.
func shallow(schema map[string]any, depth int) map[string]any {
	cut := make(map[string]any, len(schema))
	for key, value := range schema {
		switch inner := value.(type) {
		case map[string]any:
			if key == "properties" {
				cut[key] = shownProperties(inner, schema["required"], depth)
			} else {
				cut[key] = shallow(inner, depth)
			}
		case []any:
			cut[key] = shallowList(inner, depth)
		default:
			cut[key] = value
		}
	}
	return cut
}

// shallowList applies shallow to the schemas of a list.
func shallowList(list []any, depth int) []any {
	cut := slices.Clone(list)
	for i, value := range cut {
		if schema, ok := value.(map[string]any); ok {
			cut[i] = shallow(schema, depth)
		}
	}
	return cut
}

// shownProperties returns the properties of an object that an outline of that depth shows.
func shownProperties(properties map[string]any, names any, depth int) map[string]any {
	list, _ := names.([]any)
	cut := make(map[string]any, len(properties))
	for name, value := range properties {
		schema, ok := value.(map[string]any)
		if ok && (depth > 0 || slices.Contains(list, any(name))) {
			cut[name] = shallow(schema, max(depth-1, 0))
		}
	}
	return cut
}
