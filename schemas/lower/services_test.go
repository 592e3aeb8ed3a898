package lower_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"molar/schemas/lower"
)

// constructs returns the forms that some service refuses or drops, each as a property, an array
// item, a map value and an alternative, where a schema is allowed.
func constructs() map[string]string {
	list := map[string]string{
		"meta keys":            `{"$schema":"x","$id":"y","$anchor":"z","type":"string"}`,
		"map":                  `{"type":"object","additionalProperties":{"type":"integer"}}`,
		"reference":            `{"$ref":"#/$defs/A","description":"which"}`,
		"old reference":        `{"$ref":"#/definitions/B~1%20c"}`,
		"broken reference":     `{"$ref":"#/$defs/None"}`,
		"outside reference":    `{"$ref":"https://example.com/s.json","description":"x"}`,
		"recursive":            `{"$ref":"#/$defs/N"}`,
		"recursive to itself":  `{"$ref":"#"}`,
		"deep":                 strings.Repeat(`{"type":"object","properties":{"a":`, 20) + `{"type":"string"}` + strings.Repeat(`}}`, 20),
		"type list":            `{"type":["string","null"]}`,
		"types":                `{"type":["object","array","integer"],"properties":{"a":true},"items":{"type":"string"}}`,
		"null alone":           `{"type":"null"}`,
		"union with null":      `{"anyOf":[{"type":"string"},{"type":"null"}]}`,
		"union with siblings":  `{"anyOf":[{"type":"string"},{"type":"integer"}],"description":"d","type":"string","minLength":1}`,
		"required in a branch": `{"type":"object","properties":{"a":{"type":"string"},"b":{}},"anyOf":[{"required":["a"]},{"required":["q"]}]}`,
		"required of nothing":  `{"type":"object","required":["a"]}`,
		"one of":               `{"oneOf":[{"type":"string"},{"const":1}]}`,
		"all of":               `{"allOf":[{"properties":{"a":{"type":"string"}}},{"required":["a"]},{"type":"object"}]}`,
		"contradiction":        `{"allOf":[{"type":"string"},{"type":"integer"}]}`,
		"not and if":           `{"type":"object","not":{"required":["a"]},"if":{"required":["a"]},"then":{"required":["b"]},"else":false}`,
		"const":                `{"const":{"a":[1]}}`,
		"enum of numbers":      `{"type":"integer","enum":[1,2]}`,
		"enum of all":          `{"enum":["a","",1,1.5,true,null,{},[]]}`,
		"enum of nothing":      `{"enum":[]}`,
		"enum and bounds":      `{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":1.5,"multipleOf":0.5,"default":1}`,
		"whole bounds":         `{"type":"integer","exclusiveMinimum":0,"exclusiveMaximum":9007199254740993}`,
		"lists":                `{"type":"array","items":{"type":"string"},"uniqueItems":true,"contains":{"const":"a"},"minContains":1,"maxItems":99999,"unevaluatedItems":false}`,
		"objects":              `{"type":"object","patternProperties":{"^x":{}},"propertyNames":{"pattern":"^x"},"minProperties":1,"unevaluatedProperties":false,"dependentRequired":{"a":["b"]}}`,
		"format":               `{"type":"string","format":"uri","pattern":"(?i)^\\d+$","contentEncoding":"base64"}`,
		"array without items":  `{"type":"array"}`,
		"tuple":                `{"type":"array","items":[{"type":"string"},{"type":"integer"}],"additionalItems":false}`,
		"prefix items":         `{"prefixItems":[{"type":"string"},true],"items":false}`,
		"items true":           `{"type":"array","items":true}`,
		"items false":          `{"type":"array","items":false}`,
		"no type":              `{"properties":{"a":{"minLength":1},"b":{"items":{}},"c":{"enum":["x"]},"d":{}}}`,
		"empty object":         `{"type":"object"}`,
		"closed object":        `{"type":"object","properties":{},"additionalProperties":false}`,
		"true":                 `true`,
		"false":                `false`,
		"properties as a list": `{"type":"object","properties":[],"required":true}`,
		"no schema":            `["string"]`,
		"words of all kinds":   `{"title":7,"description":{"a":1},"type":7,"enum":"a","items":"b"}`,
		"names":                `{"type":"object","properties":{"$ref":{},"a-b c":{"type":"string"},"":{"type":"string"},"é":{},"properties":{"type":"object","properties":{"type":{}}}},"required":["$ref",""]}`,
	}
	for name, in := range list {
		list[name+", in a list"] = `{"type":"array","items":` + in + `}`
		list[name+", in a map"] = `{"type":"object","additionalProperties":` + in + `}`
		list[name+", as an alternative"] = `{"anyOf":[{"type":"boolean"},` + in + `]}`
	}
	return list
}

const definitions = `"$defs":{"A":{"type":"integer","description":"an A"},"N":{"type":"object","properties":{"next":{"$ref":"#/$defs/N"},"all":{"type":"array","items":{"$ref":"#/$defs/N"}}},"required":["next"]}},` +
	`"definitions":{"B/ c":{"type":["boolean","null"]}}`

// No construct, at any place, makes a service refuse the request or lose a part of it, and
// lowering is deterministic.
func TestLower_NoConstructCostsTheRequest(t *testing.T) {
	t.Parallel()
	for name, in := range constructs() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			forms := []string{`{"type":"object","properties":{"p":` + in + `,"q":{"type":"string"}},"required":["p","q"],` + definitions + `}`}
			if in[0] == '{' { // as the root, too
				forms = append(forms, in[:len(in)-1]+strings.Repeat(",", min(1, len(in)-2))+definitions+`}`)
			}
			for _, raw := range forms {
				for service, to := range services {
					got, err := to(json.RawMessage(raw))
					if err != nil {
						t.Fatalf("%s: %v", service, err)
					}
					again, _ := to(json.RawMessage(raw))
					if string(again.Schema) != string(got.Schema) || again.Hint != got.Hint {
						t.Errorf("%s: lowering twice gives two results", service)
					}
					switch service {
					case "gemini":
						checkGemini(t, got.Schema)
					case "anthropic":
						checkAnthropic(t, got.Schema)
					case "ollama":
						checkRoundTrip(t, got.Schema)
						checkSaid(t, got.Schema)
					}
					checkParameters(t, got.Schema)
				}
			}
		})
	}
}

var services = map[string]func(json.RawMessage) (lower.Result, error){
	"gemini": lower.ForGemini, "ollama": lower.ForOllama, "openai": lower.ForOpenAI, "anthropic": lower.ForAnthropic,
}

// checkParameters checks the requirements of every service for a function's parameters: an
// object, no references, and no required property that is missing.
func checkParameters(t *testing.T, raw json.RawMessage) {
	t.Helper()
	var out struct {
		Type       string
		Properties map[string]json.RawMessage
		Required   []string
	}
	if err := json.Unmarshal(raw, &out); err != nil || out.Type != "object" {
		t.Errorf("%s is no object schema: %v", raw, err)
	}
	for _, name := range out.Required {
		if out.Properties[name] == nil {
			t.Errorf("required %q is no property of %s", name, raw)
		}
	}
}

// checkSaid fails for a property without any information for the model.
func checkSaid(t *testing.T, raw json.RawMessage) {
	t.Helper()
	var schema struct {
		Properties map[string]json.RawMessage
		AnyOf      []json.RawMessage
	}
	if err := json.Unmarshal(raw, &schema); err != nil {
		t.Fatal(err)
	}
	if string(raw) == `{}` {
		t.Error("a schema without any word")
	}
	for _, p := range schema.Properties {
		checkSaid(t, p)
	}
	for _, b := range schema.AnyOf {
		checkSaid(t, b)
	}
}

// Recursive, deeply nested and large schemas are bounded for every service.
func TestLower_Bounds(t *testing.T) {
	t.Parallel()
	var wide, mutual strings.Builder
	wide.WriteString(`{"type":"object","properties":{"p":{"type":"string"}`)
	for i := 0; wide.Len() < lower.MaxInput-200; i++ {
		fmt.Fprintf(&wide, `,"p%d":{"type":"string","description":"the %d-th"}`, i, i)
	}
	wide.WriteString(`}}`)
	mutual.WriteString(`{"type":"object","properties":{"a":{"$ref":"#/$defs/d0"}},"$defs":{`)
	for i := range 12 { // each refers to all
		fmt.Fprintf(&mutual, `"d%d":{"type":"object","properties":{"x":{"type":"string"}`, i)
		for j := range 12 {
			fmt.Fprintf(&mutual, `,"r%d":{"$ref":"#/$defs/d%d"}`, j, j)
		}
		mutual.WriteString(`}},`)
	}
	mutual.WriteString(`"end":{}}}`)
	for name, in := range map[string]string{
		"deep":      strings.Repeat(`{"type":"object","properties":{"a":`, 50) + `{"type":"string"}` + strings.Repeat(`}}`, 50),
		"deep list": `{"properties":{"a":` + strings.Repeat(`{"type":"array","items":`, 100) + `{}` + strings.Repeat(`}`, 100) + `}}`,
		"2 MB":      wide.String(),
		"2 MB text": `{"type":"object","description":"` + strings.Repeat("d", lower.MaxInput-100) + `"}`,
		"mutual":    mutual.String(),
	} {
		for service, to := range services {
			t.Run(name+" for "+service, func(t *testing.T) {
				t.Parallel()
				got, err := to(json.RawMessage(in))
				if errors.Is(err, lower.ErrTooLarge) && name == "mutual" {
					return // refused, which affects this tool only
				}
				if err != nil {
					t.Fatal(err)
				}
				if len(got.Schema) > 2*len(in)+1<<20 || len(got.Hint) > 64<<10 {
					t.Errorf("%d bytes became %d, with a hint of %d", len(in), len(got.Schema), len(got.Hint))
				}
				checkParameters(t, got.Schema)
			})
		}
	}
}
