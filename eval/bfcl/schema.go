package bfcl

import "encoding/json"

// JSONSchema rewrites the parameters of a function as JSON Schema: the benchmark
// writes dict, float, tuple and any, and the types of Java and JavaScript.
func JSONSchema(parameters json.RawMessage) (json.RawMessage, error) {
	if len(parameters) == 0 {
		return json.RawMessage(`{"type":"object","properties":{}}`), nil
	}
	var doc any
	if err := json.Unmarshal(parameters, &doc); err != nil {
		return nil, err
	}
	return json.Marshal(rewrite(doc, false))
}

// rewrite changes the types of a schema. In properties, the keys are names.
func rewrite(v any, names bool) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			if text, ok := value.(string); ok && key == "type" && !names {
				if t := jsonType(text); t != "" {
					out[key] = t
				}
				continue
			}
			if key == "default" && !names {
				continue // the benchmark's defaults are prose more often than values
			}
			out[key] = rewrite(value, key == "properties" && !names)
		}
		return out
	case []any:
		for i := range v {
			v[i] = rewrite(v[i], false)
		}
	}
	return v
}

// jsonType is the name of a type in JSON Schema; "" for any.
func jsonType(t string) string {
	switch t {
	case "dict", "HashMap", "Hashtable", "object":
		return "object"
	case "float", "double", "number":
		return "number"
	case "tuple", "list", "array", "Array", "ArrayList", "Queue", "Stack", "Set":
		return "array"
	case "integer", "byte", "short", "long", "Bigint":
		return "integer"
	case "boolean", "bool", "Boolean":
		return "boolean"
	case "string", "String", "char":
		return "string"
	}
	return ""
}
