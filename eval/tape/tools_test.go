package tape_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/eval/tape"
)

// TestTools: each field of a listed tool is compared, and withdrawing a promise is breaking.
func TestTools(t *testing.T) {
	type change struct{ Class, Rule, Tier, Want, Got string }
	hint := func(tier, want, got string) []change {
		return []change{{tape.Annotation, "annotation-changed", tier, want, got}}
	}
	for _, test := range []struct {
		name, was, now string
		want           []change
	}{
		{"nothing", `{"annotations":{"readOnlyHint":true}}`, `{"annotations":{"readOnlyHint":true}}`, nil},
		{"writes now", `{"annotations":{"readOnlyHint":true}}`, `{"annotations":{"readOnlyHint":false}}`, hint(tape.TierBreaking, "readOnlyHint: true", "readOnlyHint: false")},
		{"reads now", `{"annotations":{"readOnlyHint":false}}`, `{"annotations":{"readOnlyHint":true}}`, hint(tape.TierDangerous, "readOnlyHint: false", "readOnlyHint: true")},
		{
			"from reading to destroying", `{"annotations":{"readOnlyHint":true}}`, `{"annotations":{"destructiveHint":true}}`,
			append(hint(tape.TierBreaking, "readOnlyHint: true", "readOnlyHint: not set"), hint(tape.TierBreaking, "destructiveHint: not set", "destructiveHint: true")...),
		},
		{"may destroy now", `{"annotations":{"destructiveHint":false}}`, `{}`, hint(tape.TierBreaking, "destructiveHint: false", "destructiveHint: not set")},
		{"not to be repeated", `{"annotations":{"idempotentHint":true}}`, `{}`, hint(tape.TierBreaking, "idempotentHint: true", "idempotentHint: not set")},
		{"open world", `{"annotations":{"openWorldHint":false}}`, `{"annotations":{"openWorldHint":true}}`, hint(tape.TierDangerous, "openWorldHint: false", "openWorldHint: true")},
		{"title", `{"title":"Find"}`, `{"title":"Search"}`, hint(tape.TierMinor, "title: Find", "title: Search")},
		{"title of the annotations", `{}`, `{"annotations":{"title":"Search"}}`, hint(tape.TierMinor, "annotations.title: not set", "annotations.title: Search")},
		{
			"a result that is promised", `{}`, `{"outputSchema":{"type":"object"}}`,
			[]change{{tape.DriftOutput, "output-schema-added", tape.TierMinor, "(none)", `{"type":"object"}`}},
		},
		{
			"a promise less", `{"outputSchema":{"type":"object"}}`, `{}`,
			[]change{{tape.DriftOutput, "output-schema-removed", tape.TierBreaking, `{"type":"object"}`, "(none)"}},
		},
		{
			"another type", `{"outputSchema":{"type":"object"}}`, `{"outputSchema":{"type":"array"}}`,
			[]change{{tape.DriftOutput, "output-schema-changed", tape.TierBreaking, `{"type":"object"}`, `{"type":"array"}`}},
		},
		{"another order of keys", `{"outputSchema":{"type":"object","title":"x"}}`, `{"outputSchema":{"title":"x","type":"object"}}`, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			listed := func(text string) map[string]tape.Tool {
				tool := tape.Tool{Name: "f", InputSchema: json.RawMessage(`{"type":"object"}`)}
				if err := json.Unmarshal([]byte(text), &tool); err != nil {
					t.Fatal(err)
				}
				return map[string]tape.Tool{"f": tool}
			}
			var got []change
			for _, d := range tape.Tools("s", listed(test.was), listed(test.now)) {
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
