package lower_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/schemas/lower"
)

func TestLocal(t *testing.T) {
	for name, tc := range map[string]struct {
		raw, want string // empty if it stays as it is
		lost      []string
	}{
		"places":           {raw: `{"properties": {"a":{"$ref":"#/$defs/x%20y"}},"$defs":{"x y":{"type":"string"}}}`},
		"no references":    {raw: `{"$id":"https://a.example/s","properties":{"a":{"$anchor":"b"}}}`},
		"unreadable":       {raw: `{"$ref":`},
		"an anchor":        {raw: `{"properties":{"a":{"$ref":"#foo"}},"$defs":{"x/y":{"$anchor":"foo","type":"string"}}}`, want: `{"properties":{"a":{"$ref":"#/$defs/x~1y"}},"$defs":{"x/y":{"type":"string"}}}`},
		"a dynamic anchor": {raw: `{"items":{"$dynamicRef":"#foo"},"$dynamicAnchor":"foo"}`, want: `{"items":{"$ref":"#"}}`},
		"an id":            {raw: `{"$id":"https://a.example/s","items":{"$ref":"item"},"$defs":{"i":{"$id":"item","type":"string"}}}`, want: `{"items":{"$ref":"#/$defs/i"},"$defs":{"i":{"type":"string"}}}`},
		"a place below an id": {
			raw:  `{"items":{"$ref":"urn:item#/$defs/n"},"$defs":{"i":{"$id":"urn:item","$ref":"#/$defs/n","$defs":{"n":{"type":"number"}}}}}`,
			want: `{"items":{"$ref":"#/$defs/i/$defs/n"},"$defs":{"i":{"$ref":"#/$defs/i/$defs/n","$defs":{"n":{"type":"number"}}}}}`,
		},
		"an anchor of draft 7": {raw: `{"items":{"$ref":"#n"},"definitions":{"n":{"$id":"#n","type":"null"}}}`, want: `{"items":{"$ref":"#/definitions/n"},"definitions":{"n":{"type":"null"}}}`},
		"nowhere": {
			raw:  `{"properties":{"a":{"$ref":"#/$defs/none","type":"string"},"b":{"$ref":"#none"},"c":{"$ref":"#/$defs/none"}}}`,
			want: `{"properties":{"a":{"type":"string"},"b":{},"c":{}}}`, lost: []string{"#/$defs/none", "#none"},
		},
		"outside":             {raw: `{"items":{"$ref":"https://a.example/s.json#/x"},"properties":{"f":{"$ref":"../f.json"}}}`, want: `{"items":{},"properties":{"f":{}}}`, lost: []string{"https://a.example/s.json#/x", "../f.json"}},
		"no schema":           {raw: `{"title":"t","items":{"$ref":"#/title"}}`, want: `{"title":"t","items":{}}`, lost: []string{"#/title"}},
		"names and values":    {raw: `{"properties":{"$ref":{"type":"string"},"$id":{"type":"string"}},"enum":[{"$ref":"#x"}],"default":{"$ref":"#y"}}`},
		"names beside a loss": {raw: `{"properties":{"$ref":{"$ref":"#x"},"$id":{"type":"string"}},"const":{"$ref":"#x"}}`, want: `{"properties":{"$ref":{},"$id":{"type":"string"}},"const":{"$ref":"#x"}}`, lost: []string{"#x"}},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.want == "" {
				tc.want = tc.raw
			}
			got, lost := lower.Local(json.RawMessage(tc.raw))
			if diff := cmp.Diff(tc.want, string(got)) + cmp.Diff(tc.lost, lost); diff != "" {
				t.Error(diff)
			}
			if again, _ := lower.Local(got); string(again) != string(got) {
				t.Errorf("made local again it is %s", again)
			}
		})
	}
}

// What the check of arguments resolves is lowered; a reference that leads nowhere is told.
func TestForOpenAI_references(t *testing.T) {
	res, err := lower.ForOpenAI(json.RawMessage(`{"type":"object","properties":{"a":{"$ref":"#foo"},"b":{"$ref":"urn:kind"},"c":{"$ref":"#gone","type":"integer"}},
		"$defs":{"x":{"$anchor":"foo","type":"string"},"y":{"$id":"urn:kind","enum":["k"]}}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string","enum":["k"]},"c":{"type":"integer","description":"see #gone"}}}`
	if diff := cmp.Diff(want, string(res.Schema)); diff != "" {
		t.Error(diff)
	}
	if notes := strings.Join(res.Notes, "\n"); notes != `c: reference "#gone" leads nowhere in this schema` {
		t.Errorf("notes %q", notes)
	}
}
