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
