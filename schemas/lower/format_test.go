package lower_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/schemas/lower"
)

func TestForFormat_KeepsOnlyWhatIsSafe(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ in, want string }{
		"verdict": {
			`{"type":"object","properties":{"on_topic":{"type":"boolean","description":"d"},"score":{"type":"number","minimum":0}},"required":["on_topic","none"],"additionalProperties":false}`,
			`{"type":"object","properties":{"on_topic":{"type":"boolean"},"score":{"type":"number"}},"required":["on_topic"],"additionalProperties":false}`,
		},
		"pattern":          {`{"type":"string","pattern":"(?:a)\\d"}`, `{"type":"string"}`},
		"formats":          {`{"anyOf":[{"type":"string","format":"date"},{"type":"string","format":"email","maxLength":9}]}`, `{"anyOf":[{"type":"string","format":"date"},{"type":"string","maxLength":9}]}`},
		"crossed lengths":  {`{"type":"string","minLength":5,"maxLength":4}`, `{"type":"string"}`},
		"crossed counts":   {`{"type":"array","items":{"type":"integer"},"minItems":5,"maxItems":4}`, `{"type":"array","items":{"type":"integer"}}`},
		"crossed numbers":  {`{"type":"integer","minimum":5,"maximum":4}`, `{"type":"integer"}`},
		"huge lengths":     {`{"type":"string","minLength":2001,"maxLength":5000}`, `{"type":"string"}`},
		"maximum kept":     {`{"type":"integer","minimum":1.5,"maximum":1e3}`, `{"type":"integer","minimum":2,"maximum":1000}`},
		"length, no type":  {`{"maxLength":5}`, `{"type":"string","maxLength":5}`},
		"count, no items":  {`{"type":"array","maxItems":5}`, `{"type":"array"}`},
		"const":            {`{"const":"a"}`, `{"enum":["a"]}`},
		"type list":        {`{"type":["string","null"],"maxLength":5}`, `{"anyOf":[{"type":"string","maxLength":5},{"type":"null"}]}`},
		"reference":        {`{"$ref":"#/$defs/a","$defs":{"a":{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}}}}}`, `{"type":"object","properties":{"a":{"type":"object","properties":{"a":{"type":"object"}}}}}`},
		"a map":            {`{"type":"object","additionalProperties":{"type":"string"}}`, `{"type":"object","additionalProperties":{"type":"string"}}`},
		"true as property": {`{"type":"object","properties":{"a":true}}`, `{"type":"object","properties":{"a":{}}}`},
		"empty enum":       {`{"type":"string","enum":[]}`, `{"type":"string"}`},
		"not alone":        {`{"not":{}}`, `{}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := lower.ForFormat(json.RawMessage(c.in))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestForFormatObject_IsAnObject(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in, want string
		wrapped  bool
	}{
		"an object":      {`{"type":"object","properties":{"a":{"type":"string","pattern":"\\d"}},"required":["a"]}`, `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`, false},
		"nothing":        {``, `{"type":"object"}`, false},
		"a string":       {`{"type":"string","maxLength":5}`, `{"type":"object","properties":{"input":{"type":"string","maxLength":5}},"required":["input"]}`, true},
		"or null":        {`{"type":["object","null"],"properties":{"a":{"type":"integer"}}}`, `{"type":"object","properties":{"a":{"type":"integer"}}}`, false},
		"some objects":   {`{"oneOf":[{"type":"object","properties":{"a":{}},"required":["a"]},{"type":"object","properties":{"b":{}}}]}`, `{"type":"object","properties":{"a":{},"b":{}}}`, false},
		"object or text": {`{"anyOf":[{"type":"object"},{"type":"string"}]}`, `{"type":"object","properties":{"input":{"anyOf":[{"type":"object"},{"type":"string"}]}},"required":["input"]}`, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, wrapped, err := lower.ForFormatObject(json.RawMessage(c.in))
			if err != nil || wrapped != c.wrapped {
				t.Fatalf("wrapped %v, %v", wrapped, err)
			}
			if diff := cmp.Diff(c.want, string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
	if _, _, err := lower.ForFormatObject(json.RawMessage(`false`)); err == nil {
		t.Error("a tool that takes no arguments at all has a format")
	}
}
