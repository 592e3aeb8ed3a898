package lower_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/schemas/lower"
)

func TestForOpenAI_LowersEachConstruct(t *testing.T) {
	t.Parallel()
	// The input is the property "p".
	for name, c := range map[string]struct{ in, want string }{
		"plain":               {`{"type":"string","description":"A city."}`, `{"type":"string","description":"A city."}`},
		"anything":            {`true`, `{"description":"any JSON value"}`},
		"known format":        {`{"type":"string","format":"uuid"}`, `{"type":"string","format":"uuid"}`},
		"foreign format":      {`{"type":"string","format":"email","pattern":"a+"}`, `{"type":"string","description":"format: email; pattern: a+"}`},
		"lengths":             {`{"type":"string","minLength":3,"maxLength":9}`, `{"type":"string","minLength":3,"maxLength":9}`},
		"huge length":         {`{"type":"string","maxLength":100000}`, `{"type":"string","description":"at most 100000 characters"}`},
		"crossed lengths":     {`{"type":"string","minLength":9,"maxLength":3}`, `{"type":"string","description":"at least 9 characters; at most 3 characters"}`},
		"bounds":              {`{"type":"integer","minimum":1,"maximum":9007199254740,"multipleOf":2}`, `{"type":"integer","description":"a multiple of 2","minimum":1,"maximum":9007199254740}`},
		"huge bound":          {`{"type":"integer","maximum":9223372036854775807}`, `{"type":"integer","description":"<= 9223372036854775807"}`},
		"two minima":          {`{"type":"integer","minimum":1,"allOf":[{"minimum":2}]}`, `{"type":"integer","description":">= 2","minimum":1}`},
		"exclusive":           {`{"exclusiveMinimum":0}`, `{"type":"number","description":"> 0"}`},
		"object sizes":        {`{"type":"object","minProperties":1}`, `{"type":"object","description":"at least 1 properties"}`},
		"default":             {`{"type":"string","default":"x"}`, `{"type":"string","description":"default: \"x\""}`},
		"const":               {`{"const":1}`, `{"type":"integer","enum":[1]}`},
		"type list":           {`{"type":["string","null"]}`, `{"type":["string","null"]}`},
		"nullable":            {`{"type":"string","nullable":true}`, `{"type":["string","null"]}`},
		"oneOf":               {`{"oneOf":[{"type":"string"},{"type":"integer"}]}`, `{"anyOf":[{"type":"string"},{"type":"integer"}]}`},
		"array without items": {`{"type":"array"}`, `{"type":"array","items":{}}`},
		"array or null":       {`{"type":["array","null"]}`, `{"type":["array","null"],"items":{}}`},
		"items false":         {`{"type":"array","items":false}`, `{"type":"array","description":"always empty","items":{}}`},
		"items":               {`{"type":"array","items":{"type":"string"},"maxItems":3,"uniqueItems":true}`, `{"type":"array","description":"no item twice","maxItems":3,"items":{"type":"string"}}`},
		"tuple":               {`{"type":"array","prefixItems":[{"type":"string"},{"type":"number"}]}`, `{"type":"array","description":"in this order: string, number","items":{"anyOf":[{"type":"string"},{"type":"number"}]}}`},
		"nested required":     {`{"type":"object","properties":{"a":{"type":"string"}},"required":["a","z"],"additionalProperties":false}`, `{"type":"object","description":"must also have: z","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`},
		"map":                 {`{"type":"object","additionalProperties":{"type":"object","required":["k"]}}`, `{"type":"object","properties":{},"additionalProperties":{"type":"object","description":"must also have: k"}}`},
		"ref":                 {`{"$ref":"#/$defs/City","description":"Where."}`, `{"type":"string","description":"Where. A city."}`},
		"recursive":           {`{"$ref":"#/$defs/Tree"}`, `{"type":"object","properties":{"kids":{"type":"array","items":{"type":"object","properties":{"kids":{"type":"array","items":{"type":"object","description":"nested further in the same way"}}}}}}}`},
		"keyword names":       {`{"type":"object","properties":{"$ref":{"type":"string"},"required":{"type":"boolean"}}}`, `{"type":"object","properties":{"$ref":{"type":"string"},"required":{"type":"boolean"}}}`},
		"dead schema":         {`{"enum":["a"],"allOf":[{"enum":["b"]}]}`, `{"type":"string","description":"no value is valid"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			schema := `{"$schema":"x","$id":"y","type":"object","properties":{"p":` + c.in + `},"$defs":{"City":{"type":"string","description":"A city."},` +
				`"Tree":{"type":"object","properties":{"kids":{"type":"array","items":{"$ref":"#/$defs/Tree"}}}}}}`
			res, err := lower.ForOpenAI(json.RawMessage(schema))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(`{"type":"object","properties":{"p":`+c.want+`}}`, string(res.Schema)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestForOpenAI_MakesTheRootAnObject(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in, want, hint string
		wrapped        bool
	}{
		"nothing":  {in: ``, want: `{"type":"object","properties":{}}`},
		"true":     {in: `true`, want: `{"type":"object","properties":{}}`},
		"closed":   {in: `{"type":"object","additionalProperties":false}`, want: `{"type":"object","properties":{},"additionalProperties":false}`},
		"map":      {in: `{"type":"object","additionalProperties":{"type":"string"}}`, want: `{"type":"object","properties":{},"additionalProperties":{"type":"string"}}`},
		"facts":    {in: `{"type":"object","description":"All.","minProperties":1,"properties":{"a":{"type":"string"}}}`, want: `{"type":"object","properties":{"a":{"type":"string"}}}`, hint: "All. (at least 1 properties)"},
		"array":    {in: `{"type":"array","items":{"type":"string"}}`, want: `{"type":"object","properties":{"input":{"type":"array","items":{"type":"string"}}},"required":["input"]}`, wrapped: true},
		"required": {in: `{"properties":{"a":{"type":"string"}},"required":["a"]}`, want: `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`},
		"union": {
			in:   `{"anyOf":[{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]},{"type":"object","properties":{"b":{"type":"string"}}}]}`,
			want: `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}}}`,
			hint: "give one of these sets: {a} or {b?}",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			res, err := lower.ForOpenAI(json.RawMessage(c.in))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, string(res.Schema)); diff != "" {
				t.Error(diff)
			}
			if res.Hint != c.hint || res.Wrapped != c.wrapped {
				t.Errorf("hint %q, wrapped %v; want %q, %v", res.Hint, res.Wrapped, c.hint, c.wrapped)
			}
		})
	}
}

func TestForOpenAI_RefusesWhatCannotBeOffered(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]error{
		`{"type":`: lower.ErrInvalid,
		`false`:    lower.ErrInvalid,
		`{"a":"` + strings.Repeat("a", lower.MaxInput) + `"}`: lower.ErrTooLarge,
	} {
		if _, err := lower.ForOpenAI(json.RawMessage(in)); !errors.Is(err, want) {
			t.Errorf("%.20s: got %v, want %v", in, err, want)
		}
	}
}

func TestForOpenAIAnswer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in, want string
		strict   bool
	}{
		"strict":      {`{"type":"object","properties":{"a":{"enum":["x","y"]}},"required":["a"],"additionalProperties":false}`, `{"type":"object","properties":{"a":{"type":"string","enum":["x","y"]}},"required":["a"],"additionalProperties":false}`, true},
		"open":        {`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`, `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`, false},
		"optional":    {`{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}`, `{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}`, false},
		"bounded":     {`{"type":"object","properties":{"a":{"type":"string","maxLength":3}},"required":["a"],"additionalProperties":false}`, `{"type":"object","properties":{"a":{"type":"string","maxLength":3}},"required":["a"],"additionalProperties":false}`, false},
		"no object":   {`{"type":"array","items":{"type":"string"}}`, `{"type":"array","items":{"type":"string"}}`, false},
		"vague array": {`{"type":"object","properties":{"a":{"type":"array"}},"required":["a"],"additionalProperties":false}`, `{"type":"object","properties":{"a":{"type":"array","items":{}}},"required":["a"],"additionalProperties":false}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, strict, err := lower.ForOpenAIAnswer(json.RawMessage(c.in))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, string(got)); diff != "" {
				t.Error(diff)
			}
			if strict != c.strict {
				t.Errorf("strict %v, want %v", strict, c.strict)
			}
		})
	}
	if _, _, err := lower.ForOpenAIAnswer(json.RawMessage(`{`)); !errors.Is(err, lower.ErrInvalid) {
		t.Errorf("got %v, want an invalid schema", err)
	}
}

func FuzzForOpenAI(f *testing.F) {
	for _, seed := range []string{
		`{}`, `true`, `[]`, `{"type":"object","properties":{"a":{"$ref":"#"}}}`,
		`{"allOf":[{"$ref":"#"},{"anyOf":[{"type":["object","null"]},false]}],"required":["a"]}`,
		`{"type":"array","items":{"additionalProperties":{"minimum":1e999,"maximum":-0},"nullable":true}}`,
		`{"properties":{"":{"enum":[],"minLength":1,"maxLength":0},"b":{"additionalProperties":{"required":["q"]}}}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		first, err := lower.ForOpenAI(raw)
		second, err2 := lower.ForOpenAI(raw)
		if (err == nil) != (err2 == nil) || !bytes.Equal(first.Schema, second.Schema) || first.Hint != second.Hint {
			t.Fatal("lowering twice gives two results")
		}
		if answer, _, err := lower.ForOpenAIAnswer(raw); err == nil && !json.Valid(answer) {
			t.Fatalf("%s is no JSON", answer)
		}
		if err != nil {
			return
		}
		var out struct {
			Type       string
			Properties map[string]json.RawMessage
			Required   []string
		}
		if err := json.Unmarshal(first.Schema, &out); err != nil || out.Type != "object" || out.Properties == nil {
			t.Fatalf("%s is no object schema: %v", first.Schema, err)
		}
		for _, name := range out.Required {
			if _, known := out.Properties[name]; !known {
				t.Fatalf("required %q is no property of %s", name, first.Schema)
			}
		}
	})
}

// BenchmarkForOpenAI_500Tools measures the lowering of 500 tools in all.
func BenchmarkForOpenAI_500Tools(b *testing.B) {
	tools := make([]json.RawMessage, 500)
	for i := range tools {
		tools[i] = realistic(i)
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, raw := range tools {
			if _, err := lower.ForOpenAI(raw); err != nil {
				b.Fatal(err)
			}
		}
	}
}
