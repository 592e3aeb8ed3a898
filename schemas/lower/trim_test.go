package lower_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/schemas/lower"
)

func TestTrim(t *testing.T) {
	tests := []struct{ name, schema, want string }{
		{"nothing to trim", `{"type":"object", "properties":{}}`, `{"type":"object", "properties":{}}`},
		{"none used", `{"$defs":{"a":{"type":"string"}},"type":"object"}`, `{"type":"object"}`},
		{"one used", `{"type":"object","$defs":{"b":{"type":"integer"},"a":{"type":"string"}},"properties":{"x":{"$ref":"#/$defs/a"}},"required":["x"]}`, `{"type":"object","$defs":{"a":{"type":"string"}},"properties":{"x":{"$ref":"#/$defs/a"}},"required":["x"]}`},
		{"used by one that is used", `{"definitions":{"a":{"$ref":"#/definitions/b"},"b":{"$ref":"#/definitions/a"},"c":{"$ref":"#/definitions/b"}},"allOf":[{"$ref":"#/definitions/a"}]}`, `{"definitions":{"a":{"$ref":"#/definitions/b"},"b":{"$ref":"#/definitions/a"}},"allOf":[{"$ref":"#/definitions/a"}]}`},
		{"a part of one", `{"$defs":{"a":{"properties":{"p":{"type":"string"}}},"b":{}},"properties":{"x":{"$ref":"#/$defs/a/properties/p"}}}`, `{"$defs":{"a":{"properties":{"p":{"type":"string"}}}},"properties":{"x":{"$ref":"#/$defs/a/properties/p"}}}`},
		{"an escaped name", `{"$defs":{"a/b c":{},"d":{}},"properties":{"x":{"$ref":"#/$defs/a~1b%20c"}}}`, `{"$defs":{"a/b c":{}},"properties":{"x":{"$ref":"#/$defs/a~1b%20c"}}}`},
		{"in two places", `{"$defs":{"a":{}},"definitions":{"a":{},"b":{}},"properties":{"x":{"$ref":"#/definitions/a"}}}`, `{"definitions":{"a":{}},"properties":{"x":{"$ref":"#/definitions/a"}}}`},
		{"a property of that name", `{"type":"object","properties":{"$defs":{"type":"object"}}}`, `{"type":"object","properties":{"$defs":{"type":"object"}}}`},
		{"an anchor", `{"$defs":{"a":{"$anchor":"foo"},"b":{}},"properties":{"x":{"$ref":"#foo"}}}`, `{"$defs":{"a":{"$anchor":"foo"},"b":{}},"properties":{"x":{"$ref":"#foo"}}}`},
		{"an address", `{"$id":"https://a.example/s","$defs":{"a":{}},"properties":{"x":{"$ref":"#/$defs/a"}}}`, `{"$id":"https://a.example/s","$defs":{"a":{}},"properties":{"x":{"$ref":"#/$defs/a"}}}`},
		{"not readable", `{"$defs":{"a":{}`, `{"$defs":{"a":{}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := lower.Trim(json.RawMessage(tt.schema))
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			before, beforeErr := lower.ForOpenAI(json.RawMessage(tt.schema))
			after, afterErr := lower.ForOpenAI(got)
			if diff := cmp.Diff(before, after); diff != "" || (beforeErr == nil) != (afterErr == nil) {
				t.Errorf("it is lowered differently (-before +after):\n%s\n%v %v", diff, beforeErr, afterErr)
			}
		})
	}
}
