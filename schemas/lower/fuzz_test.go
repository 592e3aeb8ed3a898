package lower_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"molar/schemas/lower"
)

func FuzzForOllama(f *testing.F) {
	for _, seed := range []string{
		`{}`, `true`, `[]`, `"x"`, `{"type":"object","properties":{"a":{"$ref":"#"}}}`,
		`{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`,
		`{"allOf":[{"$ref":"#"},{"anyOf":[{"type":["object","null"]},false]}],"required":["a"]}`,
		`{"oneOf":[{"properties":{"a":{"const":1}}},{"properties":{"a":{"enum":[2,"é"]}},"required":["a"]}]}`,
		`{"properties":{"t":{"items":[{"type":"string"},true,false]},"\u0000":{"type":"nul\ud800"},"":{}}}`,
		`{"type":"array","items":{"additionalProperties":{"minimum":1e999},"nullable":true}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		first, err := lower.ForOllama(raw)
		second, err2 := lower.ForOllama(raw)
		if (err == nil) != (err2 == nil) || !bytes.Equal(first.Schema, second.Schema) || first.Hint != second.Hint {
			t.Fatal("lowering twice gives two results")
		}
		if err != nil {
			return
		}
		var out struct {
			Type       string
			Properties map[string]json.RawMessage
			Required   []string
		}
		if err := json.Unmarshal(first.Schema, &out); err != nil {
			t.Fatalf("%s is no schema: %v", first.Schema, err)
		}
		if out.Type != "object" || out.Properties == nil {
			t.Fatalf("%s is no object schema", first.Schema)
		}
		for _, name := range out.Required {
			if _, known := out.Properties[name]; !known {
				t.Fatalf("required %q is no property of %s", name, first.Schema)
			}
		}
	})
}

// The schema for a grammar contains nothing that makes the server crash.
func FuzzForFormatObject(f *testing.F) {
	for _, seed := range []string{
		`{}`, `true`, `{"type":"string","pattern":"(?:a)","minLength":3,"maxLength":2}`,
		`{"properties":{"a":{"type":"array","items":{},"minItems":9,"maxItems":1},"b":{"type":"integer","minimum":2,"maximum":1}}}`,
		`{"$ref":"#/$defs/a","$defs":{"a":{"properties":{"a":{"$ref":"#/$defs/a"}}}}}`,
		`{"properties":{"pattern":{"not":{}},"$ref":{"enum":[]},"maxLength":{"type":"string","maxLength":9000}}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		schema, _, err := lower.ForFormatObject(raw)
		if err != nil {
			return
		}
		var out map[string]any
		if err := json.Unmarshal(schema, &out); err != nil || out["type"] != "object" {
			t.Fatalf("%s is no object schema: %v", schema, err)
		}
		safe(t, out)
	})
}

// safe checks the keywords of a schema, not the names of its properties.
func safe(t *testing.T, schema map[string]any) {
	t.Helper()
	for key, value := range schema {
		switch key {
		case "type", "enum", "required", "format":
		case "minLength", "maxLength", "minItems", "maxItems":
			if n, ok := value.(float64); !ok || n < 0 || n > 2000 {
				t.Fatalf("%s is %v", key, value)
			}
		case "minimum", "maximum":
		case "items", "additionalProperties":
			if sub, ok := value.(map[string]any); ok {
				safe(t, sub)
			}
		case "properties":
			for _, sub := range value.(map[string]any) {
				safe(t, sub.(map[string]any))
			}
		case "anyOf":
			for _, sub := range value.([]any) {
				safe(t, sub.(map[string]any))
			}
		default:
			t.Fatalf("keyword %q goes to a grammar", key)
		}
	}
	for _, pair := range [][2]string{{"minLength", "maxLength"}, {"minItems", "maxItems"}, {"minimum", "maximum"}} {
		least, hasLeast := schema[pair[0]].(float64)
		most, hasMost := schema[pair[1]].(float64)
		if hasLeast && hasMost && least > most {
			t.Fatalf("%s %v is over %s %v", pair[0], least, pair[1], most)
		}
	}
}

// A schema made local is JSON that is local.
func FuzzLocal(f *testing.F) {
	for _, seed := range []string{
		`{"items":{"$ref":"#a"},"$defs":{"x":{"$anchor":"a","$ref":"#/$defs/y"}}}`,
		`{"$id":"https://a.example/b","items":{"$ref":"c#d"},"$defs":{"x":{"$id":"c","$dynamicAnchor":"d","items":{"$dynamicRef":"#d"}}}}`,
		`{"items":{"$ref":"#/$defs/a~1b%25/0"},"$defs":{"a/b%":[{}]},"enum":[{"$ref":"x"}]}`,
		`{"$ref":"#%zz","properties":{"$ref":{"$ref":"../x"}}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		local, _ := lower.Local(raw)
		if json.Valid(raw) != json.Valid(local) {
			t.Fatalf("%s becomes %s", raw, local)
		}
		if again, lost := lower.Local(local); !bytes.Equal(again, local) || len(lost) > 0 {
			t.Fatalf("%s becomes %s, and that %s without %q", raw, local, again, lost)
		}
	})
}
