package offline_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/schemas"
)

func TestFill(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		fields     []string
		want       args
	}{
		{"a value behind its name", `record widget title "Blue" author "Ann"`, []string{"title! string", "author! string"}, args{"title": "Blue", "author": "Ann"}},
		{"an identifier", "record widget W-22", []string{"id! string"}, args{"id": "W-22"}},
		{"a path", "record widget ./docs/a.md", []string{"path! string"}, args{"path": "./docs/a.md"}},
		{"the one required string", "please record the widget about tall trees", []string{"topic! string"}, args{"topic": "tall trees"}},
		{"thousands", "record widget 1,250,000", []string{"amount! number"}, args{"amount": 1250000.0}},
		{"a decimal point", "record widget 2.75", []string{"amount! number"}, args{"amount": 2.75}},
		{"an e-mail address", "record widget for lan@example.vn", []string{"email! string"}, args{"email": "lan@example.vn"}},
		{"a web address", "record widget https://example.com/a?b=c.", []string{"url! string"}, args{"url": "https://example.com/a?b=c"}},
		{"a date", "record widget on 2026-04-01", []string{"day! date"}, args{"day": "2026-04-01"}},
		{"an enum member", "record widget with high urgency", []string{"level! low|high"}, args{"level": "high"}},
		{"what it is called", "record widget called Blue", []string{"name! string"}, args{"name": "Blue"}},
		{"curly quotes", "record widget “Blue sky”", []string{"title! string"}, args{"title": "Blue sky"}},
		{"guillemets", "record widget «Blue sky»", []string{"title! string"}, args{"title": "Blue sky"}},
		{"defaults of optional fields are left out", "record widget 7", []string{"amount! number", "limit integer=10"}, args{"amount": 7.0}},
		{"defaults of required fields are used", "record widget 7", []string{"amount! number", "mode! string=\"fast\""}, args{"amount": 7.0, "mode": "fast"}},
		{"an optional number beside its name", "record widget 7 with limit 3", []string{"amount! number", "limit integer=10"}, args{"amount": 7.0, "limit": 3.0}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tools := []schemas.ToolInfo{tool("lab", "record_widget", "Record a widget.", tt.fields...)}
			o := run(t, ask(tt.text, tools))
			if len(o.calls) != 1 {
				t.Fatalf("no call: %s\n%s", o.text, o.note)
			}
			if diff := cmp.Diff(tt.want, callArgs(t, o.calls[0])); diff != "" {
				t.Errorf("%s\n%s", diff, o.note)
			}
		})
	}
}

func TestFill_schemaForms(t *testing.T) {
	for _, tt := range []struct {
		name, schema, text string
		want               args
	}{
		{
			"a reference", `{"type":"object","required":["key"],"properties":{"key":{"$ref":"#/$defs/key"}},"$defs":{"key":{"type":"string","format":"uuid"}}}`,
			"record widget " + idA,
			args{"key": idA},
		},
		{
			"alternatives", `{"type":"object","required":["n"],"properties":{"n":{"anyOf":[{"type":"null"},{"type":"integer"}]}}}`,
			"record widget 12",
			args{"n": 12.0},
		},
		{
			"a list of types", `{"type":"object","required":["n"],"properties":{"n":{"type":["null","integer"]}}}`,
			"record widget 12",
			args{"n": 12.0},
		},
		{
			"limits", `{"type":"object","required":["n"],"properties":{"n":{"type":"integer","minimum":10,"maximum":20}}}`,
			"record widget 5, then 15",
			args{"n": 15.0},
		},
		{"a constant", `{"type":"object","required":["kind"],"properties":{"kind":{"const":"widget"}}}`, "record widget", args{"kind": "widget"}},
		{"no properties", `{"type":"object"}`, "record widget", args{}},
		{"no schema", ``, "record widget", args{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			info := tool("lab", "record_widget", "Record a widget.")
			info.InputSchema = json.RawMessage(tt.schema)
			o := run(t, ask(tt.text, []schemas.ToolInfo{info}))
			if len(o.calls) != 1 {
				t.Fatalf("no call: %s\n%s", o.text, o.note)
			}
			if diff := cmp.Diff(tt.want, callArgs(t, o.calls[0])); diff != "" {
				t.Errorf("%s\n%s", diff, o.note)
			}
		})
	}
}

// TestFill_neverInvents asks for what a question cannot give.
func TestFill_neverInvents(t *testing.T) {
	for _, tt := range []struct{ text, field, kind string }{
		{"record widget", "amount", "number"},
		{"record widget", "day", "date"},
		{"record widget 2026-02-31", "day", "date"},
		{"record widget 1.5", "count", "integer"},
		{"record widget abc", "id", "uuid"},
		{"record widget", "email", "email"},
		{"record widget", "level", "low|high"},
		{"record widget", "name", "string"},
		{"record my old widget", "id", "string"},
	} {
		tools := []schemas.ToolInfo{tool("lab", "record_widget", "Record a widget.", tt.field+"! "+tt.kind)}
		o := run(t, ask(tt.text, tools))
		if len(o.calls) != 0 || !strings.Contains(o.text, fmt.Sprintf("%q", tt.field)) {
			t.Errorf("%q with a %s: calls %v, text %q", tt.text, tt.kind, o.calls, o.text)
		}
	}
}

func FuzzFill(f *testing.F) {
	for _, tl := range tuningTools()[:12] {
		f.Add("Read \"the\" file /etc/hosts tomorrow at 9h, 3 triệu USD, "+idA, string(tl.InputSchema))
	}
	f.Add("đặt lịch cho A và B", `{"properties":{"a":true,"b":{"$ref":"#/$defs/b"}},"required":["a","b"],"$defs":{"b":{"$ref":"#/$defs/b"}}}`)
	f.Add("x 1", `{"type":"object","properties":{"":{"type":"array"}},"required":[""]}`)
	f.Add("\xff\xfe 1e999 -0 9999999999999999999999", `{"properties":{"n":{"type":"integer","pattern":"("}},"required":["n"]}`)
	f.Fuzz(func(t *testing.T, text, schema string) {
		info := tool("lab", "record_widget", "Record a widget.")
		info.InputSchema = json.RawMessage(schema)
		o := run(t, ask("record widget "+text, []schemas.ToolInfo{info}))
		if o.err != nil {
			t.Fatal(o.err)
		}
		for _, c := range o.calls {
			var got map[string]any
			if err := json.Unmarshal([]byte(c.Function.Arguments), &got); err != nil {
				t.Errorf("arguments %q: %v", c.Function.Arguments, err)
			}
		}
	})
}
