package lower_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/ollama/ollama/api"

	"molar/schemas/lower"
)

func TestForOllama_LowersEachConstruct(t *testing.T) {
	t.Parallel()
	// The input is a property "p" unless it starts with "root:".
	for name, c := range map[string]struct{ in, want string }{
		"plain":              {`{"type":"string","description":"A city."}`, `{"type":"string","description":"A city."}`},
		"format and bounds":  {`{"type":"string","format":"email","minLength":3,"maxLength":9,"pattern":"^a+$"}`, `{"type":"string","description":"format: email; at least 3 characters; at most 9 characters; pattern: ^a+$"}`},
		"number bounds":      {`{"type":"integer","minimum":1,"maximum":9007199254740993,"multipleOf":2,"description":"n"}`, `{"type":"integer","description":"n (>= 1; <= 9007199254740993; a multiple of 2)"}`},
		"exclusive bounds":   {`{"exclusiveMinimum":0,"exclusiveMaximum":5}`, `{"type":"number","description":"> 0; < 5"}`},
		"draft 4 exclusive":  {`{"minimum":0,"exclusiveMinimum":true,"exclusiveMaximum":false}`, `{"type":"number","description":">= 0; the minimum itself excluded"}`},
		"default":            {`{"type":"string","default":"x\"y"}`, `{"type":"string","description":"default: \"x\\\"y\""}`},
		"const":              {`{"const":"a"}`, `{"type":"string","enum":["a"]}`},
		"enum of all types":  {`{"enum":[1,"a",null,true,1.5]}`, `{"type":["integer","string","null","boolean","number"],"enum":[1,"a",null,true,1.5]}`},
		"empty enum":         {`{"type":"string","enum":[]}`, `{"type":"string"}`},
		"type list":          {`{"type":["string","null"]}`, `{"type":["string","null"]}`},
		"nullable":           {`{"type":"string","nullable":true}`, `{"type":["string","null"]}`},
		"foreign type names": {`{"type":"float"}`, `{"type":"number"}`},
		"unknown type":       {`{"type":"any"}`, `{"description":"any JSON value"}`},
		"true":               {`true`, `{"description":"any JSON value"}`},
		"not a schema":       {`"string"`, `{"description":"any JSON value"}`},
		"title stands in":    {`{"type":"string","title":"City"}`, `{"type":"string","description":"City"}`},
		"oneOf":              {`{"oneOf":[{"type":"string"},{"type":"integer"}]}`, `{"anyOf":[{"type":"string"},{"type":"integer"}]}`},
		"single union":       {`{"anyOf":[{"type":"string"}],"description":"d"}`, `{"type":"string","description":"d"}`},
		"false in a union":   {`{"anyOf":[false,{"type":"string"},{"type":"null"}]}`, `{"anyOf":[{"type":"string"},{"type":"null"}]}`},
		"two unions":         {`{"anyOf":[{"type":"string"},{"type":"integer"}],"oneOf":[{"const":1},{"const":"a"}]}`, `{"anyOf":[{"type":"string"},{"type":"integer"}],"description":"oneOf: [{\"const\":1},{\"const\":\"a\"}]"}`},
		"allOf":              {`{"allOf":[{"required":["a"]},{"properties":{"a":{"type":"number"}}},{"properties":{"a":{"type":"integer"},"b":{}}}]}`, `{"type":"object","description":"required: a","properties":{"a":{"type":"integer"},"b":{"description":"any JSON value"}}}`},
		"allOf of enums":     {`{"allOf":[{"enum":["a","b"]},{"enum":["b","c"]}]}`, `{"type":"string","enum":["b"]}`},
		"nested required":    {`{"type":"object","properties":{"a":{"type":"string"}},"required":["a","z"],"additionalProperties":false}`, `{"type":"object","description":"required: a; no other properties; must also have: z","properties":{"a":{"type":"string"}}}`},
		"map":                {`{"type":"object","additionalProperties":{"type":"array","items":{"type":"integer"}}}`, `{"type":"object","description":"every other property: array of integer"}`},
		"requirement union":  {`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"anyOf":[{"required":["a"]},{"required":["b"]}]}`, `{"type":"object","description":"needs a, or b","properties":{"a":{"type":"string"},"b":{"type":"string"}}}`},
		"required in items":  {`{"type":"array","items":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}}`, `{"type":"array","items":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}}`},
		"tuple":              {`{"type":"array","prefixItems":[{"type":"string"},{"type":"number"},{"type":"string"}],"items":false}`, `{"type":"array","items":{"anyOf":[{"type":"string"},{"type":"number"}]},"description":"in this order: string, number, string"}`},
		"old tuple":          {`{"items":[{"type":"string"}]}`, `{"type":"array","items":{"type":"string"},"description":"in this order: string"}`},
		"items true":         {`{"type":"array","items":true}`, `{"type":"array","items":{"description":"any JSON value"}}`},
		"items false":        {`{"type":"array","items":false}`, `{"type":"array","description":"always empty"}`},
		"properties list":    {`{"type":"object","properties":[]}`, `{"type":"object"}`},
		"if then":            {`{"type":"object","if":{"a":1},"then":{"b":2}}`, `{"type":"object","description":"if: {\"a\":1}; then: {\"b\":2}"}`},
		"not":                {`{"not":{"type":"null"}}`, `{"description":"must not match {\"type\":\"null\"}"}`},
		"ref with sibling":   {`{"$ref":"#/$defs/City","description":"Where."}`, `{"type":"string","description":"Where. A city."}`},
		"escaped pointer":    {`{"$ref":"#/$defs/a~1b%20~0c"}`, `{"type":"boolean"}`},
		"pointer to element": {`{"$ref":"#/$defs/list/anyOf/1"}`, `{"type":"null"}`},
		"outside ref":        {`{"$ref":"https://example.com/s.json"}`, `{"description":"see https://example.com/s.json"}`},
		"dangling ref":       {`{"$ref":"#/$defs/none"}`, `{"description":"see #/$defs/none"}`},
		"ref to itself":      {`{"$ref":"#/properties/p"}`, `{"description":"nested further in the same way"}`},
		"vendor keyword":     {`{"type":"string","x-go-name":"P"}`, `{"type":"string"}`},
		"keyword names": {
			`{"type":"object","properties":{"type":{"type":"string"},"properties":{"type":"object","properties":{"$ref":{"type":"integer"}}},"required":{"type":"boolean"},"enum":{"type":"string"}}}`,
			`{"type":"object","properties":{"type":{"type":"string"},"properties":{"type":"object","properties":{"$ref":{"type":"integer"}}},"required":{"type":"boolean"},"enum":{"type":"string"}}}`,
		},
		"recursive": {
			`{"$ref":"#/$defs/Tree"}`,
			`{"type":"object","properties":{"kids":{"type":"array","items":{"type":"object","properties":{"kids":{"type":"array","items":{"type":"object","description":"nested further in the same way"}}}}}}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			schema := `{"type":"object","properties":{"p":` + c.in + `},"$defs":{"City":{"type":"string","description":"A city."},` +
				`"a/b ~c":{"type":"boolean"},"list":{"anyOf":[{"type":"string"},{"type":"null"}]},` +
				`"Tree":{"type":"object","properties":{"kids":{"type":"array","items":{"$ref":"#/$defs/Tree"}}}}}}`
			res, err := lower.ForOllama(json.RawMessage(schema))
			if err != nil {
				t.Fatal(err)
			}
			want := `{"type":"object","properties":{"p":` + c.want + `}}`
			if diff := cmp.Diff(want, string(res.Schema)); diff != "" {
				t.Error(diff)
			}
			checkRoundTrip(t, res.Schema)
		})
	}
}

func TestForOllama_MakesTheRootAnObject(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in, want, hint string
		wrapped        bool
	}{
		"nothing":         {in: ``, want: `{"type":"object","properties":{}}`},
		"empty":           {in: `{}`, want: `{"type":"object","properties":{}}`},
		"true":            {in: `true`, want: `{"type":"object","properties":{}}`},
		"null":            {in: `null`, want: `{"type":"object","properties":{}}`},
		"no properties":   {in: `{"type":"object"}`, want: `{"type":"object","properties":{}}`},
		"properties list": {in: `{"type":"object","properties":[],"required":true}`, want: `{"type":"object","properties":{}}`, hint: "required"},
		"type list":       {in: `{"type":["object","null"],"properties":{"a":{"type":"string"}}}`, want: `{"type":"object","properties":{"a":{"type":"string"}}}`},
		"no type":         {in: `{"properties":{"a":{"type":"string"}},"required":["a"]}`, want: `{"type":"object","required":["a"],"properties":{"a":{"type":"string"}}}`},
		"false property":  {in: `{"properties":{"a":false,"b":{"type":"string"}}}`, want: `{"type":"object","properties":{"b":{"type":"string"}}}`},
		"root reference":  {in: `{"$ref":"#/definitions/A","definitions":{"A":{"type":"object","properties":{"a":{"type":"string"}}}}}`, want: `{"type":"object","properties":{"a":{"type":"string"}}}`},
		"root facts":      {in: `{"type":"object","description":"All of it.","minProperties":1,"properties":{"a":{"type":"string"}}}`, want: `{"type":"object","properties":{"a":{"type":"string"}}}`, hint: "All of it. (at least 1 properties)"},
		"array":           {in: `{"type":"array","items":{"type":"string"}}`, want: `{"type":"object","required":["input"],"properties":{"input":{"type":"array","items":{"type":"string"}}}}`, wrapped: true},
		"mixed union":     {in: `{"anyOf":[{"type":"string"},{"type":"object"}]}`, want: `{"type":"object","required":["input"],"properties":{"input":{"anyOf":[{"type":"string"},{"type":"object"}]}}}`, wrapped: true},
		"union of objects": {
			in: `{"oneOf":[{"type":"object","properties":{"kind":{"const":"a"},"x":{"type":"string"}},"required":["kind","x"]},` +
				`{"type":"object","properties":{"kind":{"const":"b"},"y":{"type":"integer"}},"required":["kind"]}]}`,
			want: `{"type":"object","required":["kind"],"properties":{"kind":{"type":"string","enum":["a","b"]},"x":{"type":"string"},"y":{"type":"integer"}}}`,
			hint: `give one of these sets: {kind="a", x} or {kind="b", y?}`,
		},
		"requirements": {
			in:   `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"anyOf":[{"required":["a"]},{"required":["b"]}]}`,
			want: `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}}}`, hint: "needs a, or b",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			res, err := lower.ForOllama(json.RawMessage(c.in))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, string(res.Schema)); diff != "" {
				t.Error(diff)
			}
			if res.Hint != c.hint || res.Wrapped != c.wrapped {
				t.Errorf("hint %q, wrapped %v; want %q, %v", res.Hint, res.Wrapped, c.hint, c.wrapped)
			}
			checkRoundTrip(t, res.Schema)
		})
	}
}

func TestForOllama_NotesSayWhere(t *testing.T) {
	t.Parallel()
	res, err := lower.ForOllama(json.RawMessage(`{"type":"object","properties":{"a":{"properties":{"b":{"$ref":"#/nowhere"},"c":false}},"d":{"typ":"string"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`a.b: reference "#/nowhere" leads nowhere in this schema`,
		`a.c: may never be given and is left out`,
		`d: keyword "typ" is ignored`,
	}
	if diff := cmp.Diff(want, res.Notes); diff != "" {
		t.Error(diff)
	}
}

func TestForOllama_RefusesWhatCannotBeOffered(t *testing.T) {
	t.Parallel()
	// Each definition refers to the next sixteen times, so that the whole is 16^20.
	var bomb strings.Builder
	bomb.WriteString(`{"type":"object","properties":{"a":{"$ref":"#/$defs/d0"}},"$defs":{`)
	for i := range 20 {
		fmt.Fprintf(&bomb, `"d%d":{"allOf":[%s{"type":"object"}]},`, i, strings.Repeat(fmt.Sprintf(`{"$ref":"#/$defs/d%d"},`, i+1), 16))
	}
	bomb.WriteString(`"d20":{"type":"object"}}}`)
	for name, c := range map[string]struct {
		in   string
		want error
	}{
		"not JSON":       {`{"type":`, lower.ErrInvalid},
		"two values":     {`{} {}`, lower.ErrInvalid},
		"not UTF-8":      {"{\"title\":\"\xff\"}", lower.ErrInvalid},
		"false":          {`false`, lower.ErrInvalid},
		"over 2 MB":      {`{"description":"` + strings.Repeat("a", lower.MaxInput) + `"}`, lower.ErrTooLarge},
		"deep JSON":      {strings.Repeat(`{"a":`, 200) + `1` + strings.Repeat(`}`, 200), lower.ErrTooLarge},
		"deep lists":     {strings.Repeat(`[`, 5000) + strings.Repeat(`]`, 5000), lower.ErrTooLarge},
		"bomb of refs":   {bomb.String(), lower.ErrTooLarge},
		"bomb of unions": {strings.ReplaceAll(bomb.String(), "allOf", "anyOf"), lower.ErrTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			res, err := lower.ForOllama(json.RawMessage(c.in))
			if !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
			if len(res.Schema) > lower.MaxInput {
				t.Errorf("lowered to %d bytes", len(res.Schema))
			}
		})
	}
}

func TestForOllama_BoundsDepthAndSize(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"type":"object","properties":{"a":`, 30) + `{"type":"string"}` + strings.Repeat(`}}`, 30)
	var wide strings.Builder
	wide.WriteString(`{"type":"object","properties":{"p":{"type":"string"}`)
	for i := 0; wide.Len() < lower.MaxInput-200; i++ {
		fmt.Fprintf(&wide, `,"p%d":{"type":"string","description":"the %d-th"}`, i, i)
	}
	wide.WriteString(`}}`)
	for name, in := range map[string]string{"deep": deep, "wide": wide.String()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first, err := lower.ForOllama(json.RawMessage(in))
			if err != nil {
				t.Fatal(err)
			}
			second, _ := lower.ForOllama(json.RawMessage(in))
			if !bytes.Equal(first.Schema, second.Schema) {
				t.Error("lowering twice gives two results")
			}
		})
	}
}

func TestUnwrap(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ args, want string }{
		{`{"input":{"a":9007199254740993}}`, `{"a":9007199254740993}`},
		{`{"input":[1]}`, `{"input":[1]}`},
		{`{"input":{},"b":1}`, `{"input":{},"b":1}`},
		{`nonsense`, `nonsense`},
	} {
		if got := lower.Unwrap(c.args); got != c.want {
			t.Errorf("Unwrap(%s) = %s, want %s", c.args, got, c.want)
		}
	}
	if got := lower.Wrap(`{"a":1}`); got != `{"input":{"a":1}}` {
		t.Errorf("Wrap = %s", got)
	}
}

// checkRoundTrip decodes a lowered schema as Ollama's server does and checks that nothing is
// lost.
func checkRoundTrip(t *testing.T, schema json.RawMessage) {
	t.Helper()
	var params api.ToolFunctionParameters
	if err := json.Unmarshal(schema, &params); err != nil {
		t.Fatalf("the server refuses %s: %v", schema, err)
	}
	back, err := json.Marshal(params)
	if err != nil {
		t.Fatal(err)
	}
	var before, after any
	if err := json.Unmarshal(schema, &before); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(back, &after); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("the server loses something (-sent +kept):\n%s", diff)
	}
}
