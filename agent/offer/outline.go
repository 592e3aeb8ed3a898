package offer

import (
	"bytes"
	"encoding/json"
	"slices"

	"molar/schemas"
	schemaslower "molar/schemas/lower"
)

// deepest is how deep an outline shows the arguments that may be left out.
const deepest = 4

// outline tells the arguments of a tool in at most so many bytes: all of them, or those that are
// required and of the others what lies least deep. It is empty where there is no room for that.
func outline(t schemas.ToolInfo, most int) string {
	heading := "Arguments of " + t.Name + ":\n"
	lowered, err := schemaslower.ForOpenAI(t.InputSchema) // its references are resolved
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
	for depth := deepest; depth >= 0; depth-- {
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

// shallow leaves out of a schema the properties that are not required and lie deeper than that.
func shallow(schema map[string]any, depth int) map[string]any {
	cut := make(map[string]any, len(schema))
	for key, value := range schema {
		switch inner := value.(type) {
		case map[string]any:
			if key == "properties" {
				cut[key] = required(inner, schema["required"], depth)
			} else {
				cut[key] = shallow(inner, depth)
			}
		case []any:
			cut[key] = shallows(inner, depth)
		default:
			cut[key] = value
		}
	}
	return cut
}

// shallows are the values of a list, shallow where they are schemas.
func shallows(list []any, depth int) []any {
	cut := slices.Clone(list)
	for i, value := range cut {
		if schema, ok := value.(map[string]any); ok {
			cut[i] = shallow(schema, depth)
		}
	}
	return cut
}

// required are the properties of an object that an outline of that depth shows.
func required(properties map[string]any, names any, depth int) map[string]any {
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
