package toolhandler_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"molar/schemas"
	"molar/toolhandler"
)

// What cannot be used of a schema costs that part only: it accepts anything, the rest is checked, and lint
// says so.
func TestTurn_Execute_schemasThatCannotBeUsed(t *testing.T) {
	type calls map[string]bool // whether arguments fit
	for name, tc := range map[string]struct {
		schema string
		calls  calls
		left   []string
	}{
		"all of it can": {`{"properties":{"a":{"$ref":"#/$defs/s"}},"$defs":{"s":{"type":"string"}}}`, calls{`{"a":"x"}`: true, `{"a":1}`: false}, nil},
		"a reference to nowhere": {
			`{"properties":{"a":{"$ref":"#/$defs/none"},"b":{"type":"string"}},"required":["b"]}`,
			calls{`{"a":{"x":1},"b":"y"}`: true, `{"a":1}`: false, `{"b":2}`: false},
			[]string{`the reference "#/$defs/none" leads nowhere in the schema`},
		},
		"one to elsewhere": {
			`{"properties":{"a":{"$ref":"https://example.com/x.json#/y"},"b":{"items":{"$ref":"../z.json"},"type":"array"}}}`,
			calls{`{"a":1,"b":["x"]}`: true, `{"b":1}`: false},
			[]string{`the reference "https://example.com/x.json#/y" leads nowhere in the schema`, `the reference "../z.json" leads nowhere in the schema`},
		},
		"one to a file":      {`{"properties":{"a":{"$ref":"file:///etc/passwd"}}}`, calls{`{"a":1}`: true}, []string{`the reference "file:///etc/passwd" leads nowhere in the schema`}},
		"an anchor":          {`{"properties":{"a":{"$ref":"#s"}},"$defs":{"x":{"$anchor":"s","type":"string"}}}`, calls{`{"a":"x"}`: true, `{"a":1}`: false}, nil},
		"an id":              {`{"properties":{"a":{"$ref":"urn:s"}},"$defs":{"x":{"$id":"urn:s","type":"string"}}}`, calls{`{"a":"x"}`: true, `{"a":1}`: false}, nil},
		"each of the other":  {`{"properties":{"a":{"$ref":"#/$defs/x"},"b":{"type":"string"}},"$defs":{"x":{"$ref":"#/$defs/y"},"y":{"$ref":"#/$defs/x"}}}`, calls{`{"a":"x"}`: true, `{"a":1,"b":2}`: false}, nil},
		"inside itself":      {`{"properties":{"a":{"$ref":"#"}},"additionalProperties":false}`, calls{`{"a":{"a":{}}}`: true, `{"a":{"b":1}}`: false}, nil},
		"an unknown type":    {`{"properties":{"a":{"type":"dict"},"b":{"type":"string"}}}`, calls{`{"a":{},"b":"x"}`: true, `{"b":1}`: false}, []string{"/properties/a/type has a value that no schema has"}},
		"words of draft 3":   {`{"properties":{"a":{"type":"string","required":true}}}`, calls{`{"a":"x"}`: true, `{"a":1}`: false}, []string{"/properties/a/required has a value that no schema has"}},
		"words of draft 4":   {`{"properties":{"a":{"type":"number","minimum":0,"exclusiveMinimum":true}}}`, calls{`{"a":1}`: true, `{"a":-1}`: false}, []string{"/properties/a/exclusiveMinimum has a value that no schema has"}},
		"what is no schema":  {`{"properties":{"a":"string","b":{"anyOf":["x",{"type":"null"}]}},"additionalProperties":false}`, calls{`{"a":1,"b":2}`: true, `{"c":1}`: false}, []string{"/properties/a has a value that no schema has", "/properties/b/anyOf/0 has a value that no schema has"}},
		"behind an odd ref":  {`{"type":"object","properties":{"a":{"$ref":"#/x/a"},"b":{"type":"string"}},"x":{"a":{"type":"dict"}}}`, calls{`{"a":1,"b":"x"}`: true, `{"b":1}`: false}, []string{"/x/a/type has a value that no schema has"}},
		"a list of names":    {`{"properties":{"a":{"type":"string"}},"required":["a",1]}`, calls{`{"a":1}`: false, `{}`: true}, []string{"/required has a value that no schema has"}},
		"an unknown dialect": {`{"$schema":"https://example.com/dialect","properties":{"a":{"type":"string"}}}`, calls{`{"a":"x"}`: true, `{"a":1}`: false}, []string{"/$schema has a value that no schema has"}},
	} {
		t.Run(name, func(t *testing.T) {
			tool := tool("s", "do", tc.schema)
			for args, fits := range tc.calls {
				turn := newHandler(t, echo).Begin(toolhandler.TurnConfig{Tools: []schemas.Tool{tool}})
				out := collect(t.Context(), turn, call("1", tool.Name, args))[0]
				if want := map[bool]toolhandler.Status{true: toolhandler.StatusOK, false: toolhandler.StatusInvalid}[fits]; out.Status != want {
					t.Errorf("%s: %s (%s)", args, out.Status, out.Result.OutputText())
				}
			}
			left := toolhandler.Unchecked(tool)
			for i := range left {
				left[i] = strings.TrimSuffix(left[i], ": that part accepts anything")
			}
			if diff := cmp.Diff(tc.left, left); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A short schema whose parts refer to each other more than once, which would be checked for days, and in more
// memory than there is, holds no call up: it runs, as the server checks its arguments too.
func TestTurn_Execute_schemasThatMultiply(t *testing.T) {
	const parts = 40
	multiply := func(part string) string {
		var b strings.Builder
		for i := range parts {
			fmt.Fprintf(&b, `"d%d":%s,`, i, strings.ReplaceAll(part, "NEXT", fmt.Sprintf(`{"$ref":"#/$defs/d%d"}`, i+1)))
		}
		return fmt.Sprintf(`{"type":"object","properties":{"x":{"$ref":"#/$defs/d0"}},"$defs":{%s"d%d":{"type":"string"}}}`, b.String(), parts)
	}
	for name, part := range map[string]string{
		"all of":             `{"allOf":[NEXT,NEXT]}`,
		"any of":             `{"anyOf":[NEXT,NEXT]}`,
		"not":                `{"not":{"allOf":[NEXT,NEXT]}}`,
		"dependent schemas":  `{"dependentSchemas":{"a":NEXT,"b":NEXT}}`,
		"a format":           `{"format":"regex","allOf":[NEXT,NEXT]}`,
		"inside each other":  `{"allOf":[{"properties":{"a":NEXT}},{"properties":{"a":NEXT}}]}`,
		"the keys of others": `{"allOf":[{"propertyNames":NEXT},{"propertyNames":NEXT}],"if":NEXT,"else":NEXT}`,
	} {
		t.Run(name, func(t *testing.T) {
			for _, draft := range []string{"http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/schema"} {
				tool := tool("s", "do", strings.Replace(multiply(part), "{", fmt.Sprintf(`{"$schema":%q,`, draft), 1))
				for _, args := range []string{`{"x":null}`, `{"x":` + strings.Repeat(`{"a":`, parts) + `1` + strings.Repeat(`}`, parts) + `}`} {
					turn := newHandler(t, echo).Begin(toolhandler.TurnConfig{Tools: []schemas.Tool{tool}})
					began := time.Now()
					out := collect(t.Context(), turn, call("1", tool.Name, args))[0]
					if took := time.Since(began); took > 10*time.Second {
						t.Errorf("%s took %s", args, took)
					}
					if out.Status != toolhandler.StatusOK && out.Status != toolhandler.StatusInvalid {
						t.Errorf("%s: %s (%s)", args, out.Status, out.Result.OutputText())
					}
				}
			}
		})
	}
}
