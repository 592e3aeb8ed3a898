package eval_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/eval"
	"molar/eval/tape"
	"molar/schemas"
)

// A tapedTurn is one turn on a tape, with its expectations.
type tapedTurn struct {
	expect   string
	calls    []schemas.ToolCall
	decision string
}

// measure scores turns, each as a separate case.
func measure(t *testing.T, turns ...tapedTurn) *eval.Report {
	t.Helper()
	var all []eval.Case
	for i, s := range turns {
		id := fmt.Sprintf("c%d", i)
		records := []tape.Record{
			{Type: tape.TypeHeader, Header: &tape.Header{V: 1, TapeID: "t", Case: id, Host: "h", Route: tape.Route{Provider: "offline"}}},
			{Type: tape.TypeUser, Turn: 1, Text: "x"},
		}
		if s.decision != "" {
			records = append(records, tape.Record{Type: tape.TypeGuardrail, Turn: 1, Decision: s.decision})
		}
		for _, c := range s.calls {
			records = append(records, tape.Record{Type: tape.TypeToolCall, Turn: 1, Call: &c, Server: "s", Tool: c.Function.Name})
		}
		records = append(records, tape.Record{Type: tape.TypeAnswer, Turn: 1, Text: "ok", Done: &tape.Sum{ModelCalls: 2}})
		var text strings.Builder
		for _, r := range records {
			line, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			text.Write(append(line, '\n'))
		}
		dir := files(t, map[string]string{"a.yaml": "id: " + id + "\nuser: x\nexpect: {" + s.expect + "}\ntape: a.tape.jsonl\n", "a.tape.jsonl": text.String()})
		cases, err := eval.Load(filepath.Join(dir, "a.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, cases...)
	}
	rep, err := eval.Score(all)
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

// TestMetrics counts by hand: one call right, one with a wrong argument of two, one
// missing, one too many, one turn that rightly makes none and one that wrongly does.
func TestMetrics(t *testing.T) {
	m := measure(t,
		tapedTurn{expect: "calls: {items: [{name: f, args: {a: 1}}]}", calls: []schemas.ToolCall{call("f", `{"a":1}`)}},
		tapedTurn{expect: "calls: {items: [{name: f, args: {a: 1, b: 2}}]}", calls: []schemas.ToolCall{call("f", `{"a":1,"b":3}`)}},
		tapedTurn{expect: "calls: {items: [{name: f}, {name: g}]}", calls: []schemas.ToolCall{call("f", `{}`), call("h", `{}`)}},
		tapedTurn{expect: "no_call: true"},
		tapedTurn{expect: "no_call: true", calls: []schemas.ToolCall{call("f", `{}`)}},
		tapedTurn{expect: "calls: {items: [{name: f}]}"},
	).Metrics
	// Names: 3 hits of 5 made and 5 expected; whole calls: 2 hits.
	for _, test := range []struct {
		name                 string
		got                  eval.PRF
		hits, made, expected int
		f1                   float64
	}{
		{"names", m.Name, 3, 5, 5, 0.6},
		{"calls", m.Call, 2, 5, 5, 0.4},
		{"arguments", m.Args, 2, 3, 3, 2.0 / 3},
	} {
		if test.got.Hits != test.hits || test.got.Made != test.made || test.got.Expected != test.expected {
			t.Errorf("%s: %+v, want %d hits of %d made and %d expected", test.name, test.got, test.hits, test.made, test.expected)
			continue
		}
		near(t, test.name+" precision", *test.got.Precision, float64(test.hits)/float64(test.made))
		near(t, test.name+" recall", *test.got.Recall, float64(test.hits)/float64(test.expected))
		near(t, test.name+" F1", *test.got.F1, test.f1)
	}
	if diff := cmp.Diff(eval.CallMatrix{Called: 3, Missed: 1, Wrong: 1, Abstained: 1}, m.CallMatrix); diff != "" {
		t.Error(diff)
	}
	near(t, "trajectory", *m.Trajectory, 2.0/6)
	near(t, "model calls for each turn", *m.PerTurn, 2)
}

// TestMetrics_guardrail: four verdicts, one in each field, with the intervals of 1 of 2.
func TestMetrics_guardrail(t *testing.T) {
	g := measure(t,
		tapedTurn{expect: "guardrail: pass", decision: "pass"},
		tapedTurn{expect: "guardrail: pass", decision: "refuse"},
		tapedTurn{expect: "guardrail: refuse", decision: "pass"},
		tapedTurn{expect: "guardrail: refuse", decision: "refuse"},
	).Metrics.Guardrail
	share := eval.NewShare(1, 2)
	want := eval.GuardMatrix{PassPass: 1, PassRefuse: 1, RefusePass: 1, RefuseRefuse: 1, Unsafe: share, OverBlock: share}
	if diff := cmp.Diff(want, g); diff != "" {
		t.Error(diff)
	}
	near(t, "low", *g.Unsafe.Low, 0.094531)
	near(t, "high", *g.Unsafe.High, 0.905469)
}

// TestMetrics_nothing: a metric that cannot be measured has no value, rather than 0 or 1.
func TestMetrics_nothing(t *testing.T) {
	m := eval.NewReport(nil).Metrics
	for name, v := range map[string]*float64{
		"precision": m.Name.Precision, "recall": m.Call.Recall, "F1": m.Args.F1, "trajectory": m.Trajectory,
		"cases": m.Cases.Value, "guardrail": m.Guardrail.Unsafe.Value, "per turn": m.PerTurn,
	} {
		if v != nil {
			t.Errorf("%s of nothing is %v", name, *v)
		}
	}
}
