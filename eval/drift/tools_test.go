package drift_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/eval/drift"
	"molar/eval/wire"
)

// TestTools: each part of a tool that a server lists is compared, and a promise that is taken
// back breaks those who relied on it.
func TestTools(t *testing.T) {
	type change struct{ Class, Rule, Tier, Want, Got string }
	hint := func(tier, want, got string) []change {
		return []change{{drift.Annotation, "annotation-changed", tier, want, got}}
	}
	for _, test := range []struct {
		name, was, now string
		want           []change
	}{
		{"nothing", `{"annotations":{"readOnlyHint":true}}`, `{"annotations":{"readOnlyHint":true}}`, nil},
		{"writes now", `{"annotations":{"readOnlyHint":true}}`, `{"annotations":{"readOnlyHint":false}}`, hint(drift.TierBreaking, "readOnlyHint: true", "readOnlyHint: false")},
		{"reads now", `{"annotations":{"readOnlyHint":false}}`, `{"annotations":{"readOnlyHint":true}}`, hint(drift.TierDangerous, "readOnlyHint: false", "readOnlyHint: true")},
		{
			"from reading to destroying", `{"annotations":{"readOnlyHint":true}}`, `{"annotations":{"destructiveHint":true}}`,
			append(hint(drift.TierBreaking, "readOnlyHint: true", "readOnlyHint: not set"), hint(drift.TierBreaking, "destructiveHint: not set", "destructiveHint: true")...),
		},
		{"may destroy now", `{"annotations":{"destructiveHint":false}}`, `{}`, hint(drift.TierBreaking, "destructiveHint: false", "destructiveHint: not set")},
		{"not to be repeated", `{"annotations":{"idempotentHint":true}}`, `{}`, hint(drift.TierBreaking, "idempotentHint: true", "idempotentHint: not set")},
		{"open world", `{"annotations":{"openWorldHint":false}}`, `{"annotations":{"openWorldHint":true}}`, hint(drift.TierDangerous, "openWorldHint: false", "openWorldHint: true")},
		{"title", `{"title":"Find"}`, `{"title":"Search"}`, hint(drift.TierMinor, "title: Find", "title: Search")},
		{"title of the annotations", `{}`, `{"annotations":{"title":"Search"}}`, hint(drift.TierMinor, "annotations.title: not set", "annotations.title: Search")},
		{
			"a result that is promised", `{}`, `{"outputSchema":{"type":"object"}}`,
			[]change{{drift.Output, "output-schema-added", drift.TierMinor, "(none)", `{"type":"object"}`}},
		},
		{
			"a promise less", `{"outputSchema":{"type":"object"}}`, `{}`,
			[]change{{drift.Output, "output-schema-removed", drift.TierBreaking, `{"type":"object"}`, "(none)"}},
		},
		{
			"another type", `{"outputSchema":{"type":"object"}}`, `{"outputSchema":{"type":"array"}}`,
			[]change{{drift.Output, "output-schema-changed", drift.TierBreaking, `{"type":"object"}`, `{"type":"array"}`}},
		},
		{"another order of keys", `{"outputSchema":{"type":"object","title":"x"}}`, `{"outputSchema":{"title":"x","type":"object"}}`, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			listed := func(text string) map[string]wire.Tool {
				tool := wire.Tool{Name: "f", InputSchema: json.RawMessage(`{"type":"object"}`)}
				if err := json.Unmarshal([]byte(text), &tool); err != nil {
					t.Fatal(err)
				}
				return map[string]wire.Tool{"f": tool}
			}
			var got []change
			for _, d := range drift.Tools("s", listed(test.was), listed(test.now)) {
				if d.Where != "tool s__f" {
					t.Errorf("where: %s", d.Where)
				}
				got = append(got, change{d.Class, d.Rule, d.Tier, d.Want, d.Got})
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
