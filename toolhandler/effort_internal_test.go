package toolhandler

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"molar/schemas/lower"
)

// members returns an object of n members and one more.
func members(n int, member func(i int) string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(member(i) + ",")
	}
	return "{" + b.String() + `"z":{}}`
}

// A schema whose compilation would take seconds or more is not compiled: it accepts anything, as the server
// checks its arguments too, and lint says so. One that is large as real ones are is checked.
func TestLenientSchema_large(t *testing.T) {
	refer := func(to, format string) func(n int) string {
		return func(n int) string {
			return `{"properties":` + members(n, func(i int) string { return fmt.Sprintf(`"p%d":{"$ref":"`+to+`"}`, i, i) }) +
				`,"$defs":` + members(n, func(i int) string { return fmt.Sprintf(format, i) }) + `}`
		}
	}
	each := func(format string) func(n int) string {
		return func(n int) string {
			return `{"properties":` + members(n, func(i int) string { return strings.ReplaceAll(fmt.Sprintf(`"p%d":`, i)+format, "N", fmt.Sprint(i)) }) + `}`
		}
	}
	nested := func(open, end string) func(n int) string {
		return func(n int) string { return strings.Repeat(open, n) + "{}" + strings.Repeat(end, n) }
	}
	for name, tc := range map[string]struct {
		schema    func(n int) string
		few, many int
	}{
		"properties":             {each(`{"type":"string"}`), 4000, 30_000},
		"true":                   {each(`true`), 4000, 30_000},
		"references":             {refer("#/$defs/p%d", `"p%d":{"type":"string"}`), 1000, 5000},
		"references by anchor":   {refer("#a%d", `"p%d":{"$anchor":"a%[1]d","type":"string"}`), 1000, 30_000},
		"references by id":       {refer("urn:a%d", `"p%d":{"$id":"urn:a%[1]d","type":"string"}`), 1000, 5000},
		"references to one":      {each(`{"$ref":"#/properties/z"}`), 3000, 10_000},
		"references to examples": {refer("#/examples/0/p%d", `"p%d":{}`), 0, 5000},
		"dynamic anchors":        {refer("#p%d", `"p%d":{"$dynamicAnchor":"p%[1]d"}`), 500, 5000},
		"patterns":               {each(`{"pattern":"^(a{1,9}){1,99}N$"}`), 200, 3000},
		"patterns of names":      {each(`{"patternProperties":{"^(a{1,9}){1,99}N$":{}}}`), 200, 3000},
		"nested":                 {nested(`{"not":`, `}`), 120, 2000},
		"nested in lists":        {nested(`{"anyOf":[`, `]}`), 60, 2000},
		"a long name": {func(n int) string {
			return `{"properties":{"` + strings.Repeat("x", 20*n) + `":` + each(`{}`)(n) + `}}`
		}, 100, 3000},
		"bytes": {func(n int) string { return `{"description":"` + strings.Repeat("x", n) + `"}` }, lower.MaxInput - 100, lower.MaxInput},
	} {
		t.Run(name, func(t *testing.T) {
			if _, left, err := lenientSchema(json.RawMessage(tc.schema(tc.few))); err != nil || len(left) > 0 {
				t.Errorf("of %d: %v, %v", tc.few, left, err)
			}
			schema, left, err := lenientSchema(json.RawMessage(tc.schema(tc.many)))
			if want := []string{"the whole schema is too large to be checked"}; err != nil || !slices.Equal(left, want) {
				t.Fatalf("of %d: %.200v, %v", tc.many, left, err)
			}
			if err := schema.Check([]byte(`{"p1":[1]}`)); err != nil {
				t.Error(err)
			}
			if len(tc.schema(tc.many)) > lower.MaxInput {
				return
			}
			if _, err := NewSchema(json.RawMessage(tc.schema(tc.many))); !errors.Is(err, errTooLarge) {
				t.Error(err)
			}
		})
	}
}

// A schema that is compiled again without what is wrong with it takes no more effort for that.
func TestLenientSchema_mendedOften(t *testing.T) {
	found := func(n int) json.RawMessage { // the fault is found when the reference is followed
		return json.RawMessage(`{"type":"object","properties":` + members(n, func(i int) string { return fmt.Sprintf(`"p%d":true`, i) }) +
			`,"anyOf":[{"$ref":"#/x/a"}],"x":{"a":{"type":"dict"}}}`)
	}
	if _, left, err := lenientSchema(found(100)); err != nil || !slices.Equal(left, []string{"/x/a/type has a value that no schema has"}) {
		t.Errorf("%v, %v", left, err)
	}
	if _, left, err := lenientSchema(found(8000)); err != nil || len(left) != 1 || !strings.Contains(left[0], "whole schema") {
		t.Errorf("%v, %v", left, err)
	}
	wrong := members(3000, func(i int) string { return fmt.Sprintf(`"p%d":"x"`, i) })
	if _, left, err := lenientSchema(json.RawMessage(`{"properties":` + wrong + `}`)); err != nil || len(left) != 3000 {
		t.Errorf("%d, %v", len(left), err)
	}
}
