package lower_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"molar/schemas/lower"
)

// Each construct that Gemini refuses or does not know, as a property.
func TestForGemini_LowersEachConstruct(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"meta keys go", `{"$schema":"x","$id":"y","$comment":"z","type":"string"}`, `{"type":"string"}`},
		{"title stands in for a description", `{"type":"string","title":"City"}`, `{"type":"string","description":"City"}`},
		{"reference", `{"$ref":"#/$defs/A","description":"which"}`, `{"type":"integer","description":"which an A"}`},
		{"broken reference", `{"$ref":"#/$defs/None"}`, `{"description":"see #/$defs/None"}`},
		{"nullable by type list", `{"type":["string","null"]}`, `{"type":["string","null"]}`},
		{"nullable by flag", `{"type":"string","nullable":true}`, `{"type":["string","null"]}`},
		{"several types", `{"type":["string","integer"],"minimum":1,"description":"x"}`, `{"anyOf":[{"type":"string","description":"x"},{"type":"integer","minimum":1}]}`},
		{"union", `{"anyOf":[{"type":"string"},{"type":"null"}],"description":"x"}`, `{"anyOf":[{"type":"string","description":"x"},{"type":"null"}]}`},
		{"one of", `{"oneOf":[{"type":"string"},{"type":"integer"}]}`, `{"anyOf":[{"type":"string"},{"type":"integer"}]}`},
		{"all of", `{"allOf":[{"type":"object","properties":{"a":{"type":"string"}}},{"required":["a"]}]}`, `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`},
		{"union beside properties", `{"type":"object","properties":{"a":{"type":"string"}},"anyOf":[{"type":"object","properties":{"b":{"type":"string"}}},{"type":"object","properties":{"c":{"type":"string"}}}]}`, `{"type":"object","description":"give one of these sets: {b?} or {c?}","properties":{"a":{"type":"string"},"b":{"type":"string"},"c":{"type":"string"}}}`},
		{"required of nothing", `{"type":"object","properties":{"a":{}},"required":["a","b"]}`, `{"type":"object","description":"must also have: b","properties":{"a":{"description":"any JSON value"}},"required":["a"]}`},
		{"not", `{"type":"string","not":{"const":"x"}}`, `{"type":"string","description":"must not match {\"const\":\"x\"}"}`},
		{"const", `{"const":"x"}`, `{"type":"string","enum":["x"]}`},
		{"enum of numbers", `{"enum":[1,2]}`, `{"type":"integer","enum":[1,2]}`},
		{"enum with null and empty", `{"type":"string","enum":["a","",null]}`, `{"type":["string","null"],"description":"may be empty","enum":["a"]}`},
		{"enum of booleans", `{"enum":[true]}`, `{"type":"boolean","description":"one of: true"}`},
		{"mixed enum", `{"enum":["a",1]}`, `{"anyOf":[{"type":"string","enum":["a"]},{"type":"integer","enum":[1]}]}`},
		{"bounds", `{"type":"integer","exclusiveMinimum":0,"exclusiveMaximum":10}`, `{"type":"integer","minimum":1,"maximum":9}`},
		{"bounds of fractions", `{"type":"number","minimum":0.5,"exclusiveMaximum":10}`, `{"type":"number","minimum":0.5,"description":"< 10"}`},
		{"digits stay", `{"type":"integer","maximum":9007199254740993}`, `{"type":"integer","maximum":9007199254740993}`},
		{"strings", `{"type":"string","minLength":1,"pattern":"^a","default":"a"}`, `{"type":"string","description":"at least 1 characters; pattern: ^a; default: \"a\""}`},
		{"format", `{"type":"string","format":"uri"}`, `{"type":"string","description":"format: uri"}`},
		{"date-time", `{"type":"string","format":"date-time"}`, `{"type":"string","format":"date-time"}`},
		{"array without items", `{"type":"array"}`, `{"type":"array","items":{}}`},
		{"array", `{"type":"array","items":{"type":"string"},"minItems":1,"maxItems":5000,"uniqueItems":true}`, `{"type":"array","minItems":1,"description":"at most 5000 items; no item twice","items":{"type":"string"}}`},
		{"tuple", `{"type":"array","items":[{"type":"string"},{"type":"integer"}]}`, `{"type":"array","description":"in this order: string, integer","items":{"anyOf":[{"type":"string"},{"type":"integer"}]}}`},
		{"map", `{"type":"object","additionalProperties":{"type":"integer"}}`, `{"type":"object","additionalProperties":{"type":"integer"}}`},
		{"closed", `{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}`, `{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}`},
		{"true", `true`, `{"description":"any JSON value"}`},
		{"names like keywords", `{"type":"object","properties":{"$ref":{"type":"string"},"const":{"type":"string"},"default":{"type":"string"}}}`, `{"type":"object","properties":{"$ref":{"type":"string"},"const":{"type":"string"},"default":{"type":"string"}}}`},
		{"properties as a list", `{"type":"object","properties":[]}`, `{"type":"object"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			raw := `{"type":"object","properties":{"p":` + tt.in + `},"$defs":{"A":{"type":"integer","description":"an A"}}}`
			got, err := lower.ForGemini(json.RawMessage(raw))
			if err != nil {
				t.Fatal(err)
			}
			if want := `{"type":"object","properties":{"p":` + tt.want + `}}`; string(got.Schema) != want {
				t.Errorf("got  %s\nwant %s", got.Schema, want)
			}
			checkGemini(t, got.Schema)
		})
	}
}

func TestForGemini_MakesTheRootAnObject(t *testing.T) {
	tests := []struct {
		name, in, want, hint string
		wrapped              bool
	}{
		{"nothing", ``, `{"type":"object"}`, "", false},
		{"no arguments", `{"type":"object","properties":{},"additionalProperties":false}`, `{"type":"object"}`, "", false},
		{"null", `{"type":"null"}`, `{"type":"object"}`, "", false},
		{"string", `{"type":"string"}`, `{"type":"object","properties":{"input":{"type":"string"}},"required":["input"]}`, "", true},
		{"union of objects", `{"anyOf":[{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]},{"type":"object","properties":{"b":{"type":"string"}},"required":["b"]}]}`, `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}}}`, "give one of these sets: {a} or {b}", false},
		{"words of the root", `{"type":"object","description":"All of it.","minProperties":1,"properties":{"a":{"type":"string"}}}`, `{"type":"object","properties":{"a":{"type":"string"}}}`, "All of it. (at least 1 properties)", false},
		{"a map", `{"type":"object","additionalProperties":{"type":"string"}}`, `{"type":"object","additionalProperties":{"type":"string"}}`, "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := lower.ForGemini(json.RawMessage(tt.in))
			if err != nil || string(got.Schema) != tt.want || got.Hint != tt.hint || got.Wrapped != tt.wrapped {
				t.Errorf("got %s, hint %q, wrapped %v, error %v", got.Schema, got.Hint, got.Wrapped, err)
			}
		})
	}
	for in, kind := range map[string]error{`false`: lower.ErrInvalid, `{"type":`: lower.ErrInvalid, strings.Repeat(" ", lower.MaxInput+1): lower.ErrTooLarge} {
		if _, err := lower.ForGemini(json.RawMessage(in)); !errors.Is(err, kind) {
			t.Errorf("%.20s: %v", in, err)
		}
	}
}

// Recursive, deeply nested and large schemas are bounded, and lowering is deterministic.
func TestForGemini_Bounds(t *testing.T) {
	deep := strings.Repeat(`{"type":"object","properties":{"a":`, 30) + `{"type":"string"}` + strings.Repeat(`}}`, 30)
	for name, in := range map[string]string{
		"recursive": `{"type":"object","properties":{"node":{"$ref":"#/$defs/N"}},"$defs":{"N":{"type":"object","properties":{"next":{"$ref":"#/$defs/N"},"all":{"type":"array","items":{"$ref":"#"}}}}}}`,
		"deep":      deep,
		"large":     `{"type":"object","properties":{"a":{"type":"string","enum":["` + strings.Repeat(`x","y`, 1000) + `"]}},"description":"` + strings.Repeat("d", 1<<20) + `"}`,
	} {
		got, err := lower.ForGemini(json.RawMessage(in))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		again, err := lower.ForGemini(json.RawMessage(in))
		if err != nil || string(again.Schema) != string(got.Schema) {
			t.Errorf("%s: twice is not the same", name)
		}
		checkGemini(t, got.Schema)
		if levels := strings.Count(string(got.Schema), `"properties"`); name == "deep" && levels > 13 {
			t.Errorf("%d levels", levels)
		}
	}
}

func TestForGeminiAnswer(t *testing.T) {
	for in, want := range map[string]string{
		`{"type":"array","items":{"const":"a"}}`:                        `{"type":"array","items":{"type":"string","enum":["a"]}}`,
		`{"type":"object","properties":{"b":{"type":"string"},"a":{}}}`: `{"type":"object","properties":{"b":{"type":"string"},"a":{"description":"any JSON value"}}}`,
	} {
		if got, err := lower.ForGeminiAnswer(json.RawMessage(in)); err != nil || string(got) != want {
			t.Errorf("got %s, %v", got, err)
		}
	}
	if _, err := lower.ForGeminiAnswer(json.RawMessage(`{`)); err == nil {
		t.Error("no error")
	}
}

// checkGemini fails for what the service is known to refuse: keywords beyond its list, unions
// with siblings, required names without a property, lists of mixed values.
func checkGemini(t *testing.T, raw json.RawMessage) {
	t.Helper()
	var schema map[string]json.RawMessage
	if err := json.Unmarshal(raw, &schema); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	allowed := []string{"type", "description", "format", "enum", "items", "minItems", "maxItems", "minimum", "maximum", "anyOf", "properties", "additionalProperties", "required"}
	for key := range schema {
		if !slices.Contains(allowed, key) {
			t.Errorf("keyword %q in %s", key, raw)
		}
	}
	if len(schema["anyOf"]) > 0 && len(schema) > 1 {
		t.Errorf("a union with neighbours: %s", raw)
	}
	var props map[string]json.RawMessage
	var required []string
	var branches []json.RawMessage
	var enum []any
	for key, into := range map[string]any{"properties": &props, "required": &required, "anyOf": &branches, "enum": &enum} {
		if schema[key] != nil {
			if err := json.Unmarshal(schema[key], into); err != nil {
				t.Errorf("%s: %v", key, err)
			}
		}
	}
	for _, name := range required {
		if props[name] == nil {
			t.Errorf("required %q is no property of %s", name, raw)
		}
	}
	texts := slices.ContainsFunc(enum, func(v any) bool { s, ok := v.(string); return ok && s != "" })
	for _, v := range enum {
		_, text := v.(string)
		_, number := v.(float64)
		if text != texts || !text && !number || v == "" {
			t.Errorf("a list of %v", enum)
		}
	}
	for _, b := range branches {
		checkGemini(t, b)
	}
	for _, p := range props {
		checkGemini(t, p)
	}
	for _, key := range []string{"items", "additionalProperties"} {
		if len(schema[key]) > 0 && schema[key][0] == '{' {
			checkGemini(t, schema[key])
		}
	}
}

func FuzzForGemini(f *testing.F) {
	for _, seed := range []string{
		string(realistic(1)),
		`{"type":["object","null"],"anyOf":[{"required":["a"]},{"type":"string"}],"properties":{"a":{"enum":["",null,1,{}]}}}`,
		`{"properties":{"a":{"allOf":[{"type":"string"},{"anyOf":[{"type":"integer","enum":[1]},{"items":{}}]}]}}}`,
		`{"type":"object","properties":{"a":{"type":["array","object"],"items":false,"anyOf":[{"properties":{"x":true}},{"type":"object"}]}}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := lower.ForGemini(raw)
		if err != nil {
			return
		}
		checkGemini(t, got.Schema)
		if len(got.Schema) > 16*len(raw)+1<<20 {
			t.Errorf("%d bytes became %d", len(raw), len(got.Schema))
		}
	})
}

// BenchmarkForGemini_500Tools measures the lowering of 500 tools in all.
func BenchmarkForGemini_500Tools(b *testing.B) {
	tools := make([]json.RawMessage, 500)
	for i := range tools {
		tools[i] = realistic(i)
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, raw := range tools {
			if _, err := lower.ForGemini(raw); err != nil {
				b.Fatal(err)
			}
		}
	}
}
