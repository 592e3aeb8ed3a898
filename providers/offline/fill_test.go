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
		{"a day in words", "record widget tomorrow", []string{"day! date"}, args{"day": "2026-03-03"}},
		{"a day of the week", "record widget next Monday", []string{"day! date"}, args{"day": "2026-03-09"}},
		{"a Vietnamese date", "record widget ngày 5 tháng 4 năm 2027", []string{"day! date"}, args{"day": "2027-04-05"}},
		{"a month by name", "record widget on March 15, 2027", []string{"day! date"}, args{"day": "2027-03-15"}},
		{"day and hour", "record widget on 2026-04-01 at 3pm", []string{"at! date-time"}, args{"at": "2026-04-01T15:00:00Z"}},
		{"a full timestamp", "record widget 2026-04-01T15:04:05+07:00", []string{"at! date-time"}, args{"at": "2026-04-01T15:04:05+07:00"}},
		{"two days", "record widget from 2026-04-01 to 2026-04-05", []string{"start_date! date", "end_date! date"}, args{"start_date": "2026-04-01", "end_date": "2026-04-05"}},
		{"days against their order", "record widget to 2026-04-05 from 2026-04-01", []string{"start_date! date", "end_date! date"}, args{"start_date": "2026-04-01", "end_date": "2026-04-05"}},
		{"thousands", "record widget 1,250,000", []string{"amount! number"}, args{"amount": 1250000.0}},
		{"a decimal comma", "record widget 1.234,5", []string{"amount! number"}, args{"amount": 1234.5}},
		{"a decimal point", "record widget 2.75", []string{"amount! number"}, args{"amount": 2.75}},
		{"millions in words", "record widget 3 triệu", []string{"amount! number"}, args{"amount": 3000000.0}},
		{"a number in words", "record widget with five copies", []string{"copies! integer"}, args{"copies": 5.0}},
		{"an e-mail address", "record widget for lan@example.vn", []string{"email! string"}, args{"email": "lan@example.vn"}},
		{"a web address", "record widget https://example.com/a?b=c.", []string{"url! string"}, args{"url": "https://example.com/a?b=c"}},
		{"an enum member", "record widget with high urgency", []string{"level! low|high"}, args{"level": "high"}},
		{"an enum member in Vietnamese", "record widget trạng thái: đã đóng", []string{"state! open|closed"}, args{"state": "closed"}},
		{"a yes", "record widget verbose", []string{"verbose! boolean"}, args{"verbose": true}},
		{"a no", "record widget without verbose", []string{"verbose! boolean"}, args{"verbose": false}},
		{"words after a name", "record widget title: Blue sky, author: Ann Lee", []string{"title! string", "author! string"}, args{"title": "Blue sky", "author": "Ann Lee"}},
		{"what it is called", "record widget called Blue", []string{"name! string"}, args{"name": "Blue"}},
		{"what it is called in Vietnamese", "record widget tên là Trời Xanh", []string{"name! string"}, args{"name": "Trời Xanh"}},
		{"curly quotes", "record widget “Blue sky”", []string{"title! string"}, args{"title": "Blue sky"}},
		{"guillemets", "record widget «Blue sky»", []string{"title! string"}, args{"title": "Blue sky"}},
		{"a list", `record widget tags "a", "b" and "c"`, []string{"tags! strings"}, args{"tags": []any{"a", "b", "c"}}},
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
			"a nested object", `{"type":"object","required":["place"],"properties":{"place":{"type":"object","required":["city"],"properties":{"city":{"type":"string"},"note":{"type":"string"}}}}}`,
			"record widget in Oslo",
			args{"place": map[string]any{"city": "Oslo"}},
		},
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
			"a pattern", `{"type":"object","required":["code"],"properties":{"code":{"type":"string","pattern":"^W-[0-9]+$"}}}`,
			"record widget X-1 W-22",
			args{"code": "W-22"},
		},
		{
			"limits", `{"type":"object","required":["n"],"properties":{"n":{"type":"integer","minimum":10,"maximum":20}}}`,
			"record widget 5, then 15",
			args{"n": 15.0},
		},
		{"a constant", `{"type":"object","required":["kind"],"properties":{"kind":{"const":"widget"}}}`, "record widget", args{"kind": "widget"}},
		{"a list of numbers", `{"type":"object","required":["values"],"properties":{"values":{"type":"array","items":{"type":"number"}}}}`, "record widget 1, 2.5 and 3", args{"values": []any{1.0, 2.5, 3.0}}},
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
