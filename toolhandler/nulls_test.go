package toolhandler_test

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/schemas"
	"molar/toolhandler"
)

const searchSchema = `{"type":"object","properties":{
	"query":{"type":"string"},"limit":{"type":"integer"},"cursor":{"type":["string","null"]},"kind":{"anyOf":[{"$ref":"#/$defs/kind"},{"type":"null"}]},
	"order":{"$ref":"#/$defs/kind"},"any":{},"filter":{"type":"object","properties":{"from":{"type":"string"}}}},
	"required":["query"],"$defs":{"kind":{"enum":["a","b"]}}}`

// Models write null for arguments that they do not give.
func TestTurn_Execute_dropsNulls(t *testing.T) {
	closed := `{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}`
	for name, tt := range map[string]struct{ schema, args, want string }{
		"optional":             {searchSchema, `{"query":"x", "limit":null,"order": null}`, `{"query":"x"}`},
		"accepted":             {searchSchema, `{"query":"x", "cursor":null,"kind":null,"any":null}`, `{"query":"x", "cursor":null,"kind":null,"any":null}`},
		"mixed":                {searchSchema, `{"cursor":null,"limit":null,"query":"null"}`, `{"cursor":null,"query":"null"}`},
		"required":             {searchSchema, `{"query":null,"limit":null}`, ""},
		"inside another one":   {searchSchema, `{"query":"x","filter":{"from":null}}`, ""},
		"not declared":         {closed, `{"b":null,"a":"x"}`, `{"a":"x"}`},
		"all":                  {closed, `{"a":null}`, `{}`},
		"of no schema":         {"", `{"a":null}`, `{"a":null}`},
		"needed by the others": {`{"properties":{"a":{"type":"string"},"b":{"type":"string"}},"dependentRequired":{"a":["b"]}}`, `{"a":"x","b":null}`, ""},
		"of one alternative": {
			`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"oneOf":[{"required":["a"]},{"required":["b"]}]}`,
			`{"a":"x","b":null}`, `{"a":"x"}`,
		},
		"nullable": {
			`{"type":"object","properties":{"a":{"type":"string","nullable":true},"b":{"type":"string","nullable":false},"nullable":{"type":"boolean"}}}`,
			`{"a":null,"b":null,"nullable":null}`, `{"a":null}`,
		},
		"nullable, with the name of a keyword": {
			`{"type":"object","properties":{"default":{"type":"string","nullable":true},"enum":{"type":"string"}}}`,
			`{"default":null,"enum":null}`, `{"default":null}`,
		},
		"refused without another": {
			`{"properties":{"a":{"type":"string"}},"if":{"not":{"required":["a"]}},"then":{"properties":{"b":{"type":"string"}}}}`,
			`{"a":null,"b":null}`, `{}`,
		},
		"refused one after another": {
			`{"properties":{"a":{"type":"string"}},"allOf":[{"if":{"not":{"required":["a"]}},"then":{"properties":{"b":{"type":"string"}}}},` +
				`{"if":{"not":{"required":["b"]}},"then":{"properties":{"c":{"type":"string"}},"required":["d"]}}]}`,
			`{"a":null,"b":null,"c":null,"d":1}`, `{"d":1}`,
		},
		"digits": {searchSchema, `{"query":"x","limit":9007199254740993,"order":null}`, `{"query":"x","limit":9007199254740993}`},
	} {
		t.Run(name, func(t *testing.T) {
			turn := newHandler(t, echo).Begin(toolhandler.TurnConfig{Tools: []schemas.Tool{tool("s", "search", tt.schema)}})
			out := collect(t.Context(), turn, call("1", "s__search", tt.args))[0]
			if tt.want == "" {
				if out.Status != toolhandler.StatusInvalid {
					t.Errorf("%s: %s", out.Status, out.Result.Output)
				}
				return
			}
			if out.Status != toolhandler.StatusOK || string(out.Result.Output) != tt.want || out.Call.Function.Arguments != tt.want {
				t.Errorf("%s: %s of %s, want %s", out.Status, out.Result.Output, out.Call.Function.Arguments, tt.want)
			}
		})
	}
}

// What a person is asked about, what is recorded and what counts as a repeat is the call that is sent.
func TestTurn_Execute_droppedNullsAreNowhere(t *testing.T) {
	var recorded, audited []string
	approver := &asker{decision: toolhandler.Decision{Allowed: true}}
	reader, writer := tool("s", "get_thing", searchSchema), tool("s", "set_thing", searchSchema)
	writer.Rules.Policy = schemas.PolicyConfirm
	turn := newHandler(t, echo).Begin(toolhandler.TurnConfig{
		Tools: []schemas.Tool{reader, writer}, Approver: approver,
		Before: func(_ context.Context, call schemas.ToolCall) error {
			recorded = append(recorded, call.Function.Arguments)
			return nil
		},
		Audit: func(_ context.Context, r toolhandler.Ruling) { audited = append(audited, r.Call.Function.Arguments) },
	})
	outs := collect(t.Context(), turn, call("1", "s__get_thing", `{"query":"x"}`), call("2", "s__get_thing", `{"limit":null,"query":"x"}`))
	if outs[1].Status != toolhandler.StatusRepeated {
		t.Errorf("the second call is %s", outs[1].Status)
	}
	out := collect(t.Context(), turn, call("3", "s__set_thing", `{"query":"x","limit":null}`))[0]
	want := []string{`{"query":"x"}`}
	if out.Status != toolhandler.StatusOK || !slices.Equal(recorded, want) || !slices.Equal(audited, want) {
		t.Errorf("%s: recorded %q, audited %q", out.Status, recorded, audited)
	}
	if diff := cmp.Diff(want[0], approver.asked[0].Call.Function.Arguments); diff != "" {
		t.Error(diff)
	}
	if err := approver.asked[0].Check(`{"query":"y","limit":null}`); err != nil {
		t.Errorf("a person's arguments: %v", err)
	}
}
