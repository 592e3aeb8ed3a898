package eval_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/eval"
	"molar/eval/tape"
	"molar/schemas"
)

// writeCase writes a case and a tape of one turn.
func writeCase(t *testing.T, expect string, build func(*tape.Builder)) []eval.Case {
	t.Helper()
	dir := files(t, map[string]string{"a.yaml": "id: a\nuser: Which?\nexpect: " + expect + "\n"})
	f, err := os.Create(filepath.Join(dir, "a.tape.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	b := tape.NewBuilder(f, tape.Header{TapeID: "t", Case: "a", Route: tape.Route{Provider: "offline"}})
	b.Server("s", []tape.Tool{{Name: "f", InputSchema: json.RawMessage(`{"type":"object"}`)}})
	b.User("Which?")
	build(b)
	if err := b.Err(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	cases, err := eval.Load(filepath.Join(dir, "a.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return cases
}

func call(name, args string) schemas.ToolCall {
	return schemas.ToolCall{ID: name + args, Function: schemas.FunctionCall{Name: name, Arguments: args}}
}

func TestScore(t *testing.T) {
	twoCalls := func(b *tape.Builder) {
		b.ModelAnswer("offline", "tool", tape.WireAnswer{Calls: []tape.Call{{ID: "1", Name: "s__f", Arguments: `{"n":1}`}, {ID: "2", Name: "s__f", Arguments: `{"n":2}`}}}, "")
		b.Call(1, "s", "f", call("s__f", `{"n":1}`), json.RawMessage(`{"url":"https://a.example/1","price":1234.5}`), false)
		b.Call(2, "s", "f", call("s__f", `{"n":2}`), json.RawMessage(`"nothing"`), true)
		b.ModelAnswer("offline", "answer", tape.WireAnswer{Text: "It is 1,234.50 (https://a.example/1)."}, "")
		b.Answer("It is 1,234.50 (https://a.example/1).")
	}
	for _, test := range []struct {
		name, expect string
		ok           bool
	}{
		{"calls", `{calls: {items: [{name: f, args: {n: 2}}, {name: s__f, args: {n: 1}}]}}`, true},
		{"by server", `{calls: {others: true, items: [{name: f, server: s, args: {n: 2}}]}}`, true},
		{"another server", `{calls: {others: true, items: [{name: f, server: x}]}}`, false},
		{"a call too few", `{calls: {items: [{name: f, args: {n: 1}}]}}`, false},
		{"result", `{calls: {others: true, items: [{name: f, result: {subset: {price: {approx: 1234, abs: 1}}}}]}}`, true},
		{"wrong result", `{calls: {others: true, items: [{name: f, result: {subset: {price: 9}}}]}}`, false},
		{"no call", `{no_call: true}`, false},
		{"forbidden", `{calls: {others: true, forbid: [{name: f, args: {n: 2}}]}}`, false},
		{"max", `{calls: {others: true, max: 1}}`, false},
		{"number", `{answer: {all: [{number: 1234.5}]}}`, true},
		{"another number", `{answer: {all: [{number: 1234}]}}`, false},
		{"citation", `{answer: {all: [{citation: any}]}}`, true},
		{"that citation", `{answer: {all: [{citation: "https://a.example/1"}]}}`, true},
		{"another citation", `{answer: {all: [{citation: "https://a.example/2"}]}}`, false},
		{"any of", `{answer: {any: [{contains: x}, {regex: "It is"}]}}`, true},
		{"none of", `{answer: {any: [{contains: zz}, {contains: qq}]}}`, false},
		{"not", `{answer: {all: [{not_contains: "1,234"}]}}`, false},
		{"limits", `{limits: {llm_calls: 2, tool_calls: 2}}`, true},
		{"model calls", `{limits: {llm_calls: 1}}`, false},
		{"tool calls", `{limits: {tool_calls: 1}}`, false},
		{"guardrail without a verdict", `{guardrail: pass}`, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			rep, err := eval.Score(writeCase(t, test.expect, twoCalls))
			if err != nil {
				t.Fatal(err)
			}
			if ok := rep.Cases[0].Status == eval.StatusPass; ok != test.ok {
				t.Errorf("%s: %s", rep.Cases[0].Status, rep.Cases[0].Why)
			}
		})
	}
}

// TestScore_inventedCitation: citing an address that is in no result is a fault.
func TestScore_inventedCitation(t *testing.T) {
	rep, err := eval.Score(writeCase(t, `{answer: {all: [{citation: any}]}}`, func(b *tape.Builder) {
		b.ModelAnswer("offline", "answer", tape.WireAnswer{Text: "See https://made.example/up"}, "")
		b.Answer("See https://made.example/up")
	}))
	if err != nil {
		t.Fatal(err)
	}
	if rep.Cases[0].Status != eval.StatusFail {
		t.Error("an invented citation passed")
	}
}

func TestExitCode(t *testing.T) {
	of := func(statuses ...eval.Status) *eval.Report {
		var results []eval.CaseResult
		for _, s := range statuses {
			results = append(results, eval.CaseResult{Status: s})
		}
		return eval.NewReport(results)
	}
	for want, rep := range map[int]*eval.Report{
		0: of(eval.StatusPass), 1: of(eval.StatusPass, eval.StatusFlaky), 3: of(eval.StatusFail, eval.StatusDrift),
		4: of(eval.StatusDrift, eval.StatusInfra, eval.StatusFail), 5: of(),
	} {
		if got := rep.ExitCode(); got != want {
			t.Errorf("%+v: exit code %d, want %d", rep.Summary, got, want)
		}
	}
}

func TestPassK(t *testing.T) {
	trials := func(good, n int) eval.CaseResult {
		c := eval.CaseResult{Status: eval.StatusFail}
		for i := range n {
			s := eval.StatusFail
			if i < good {
				s = eval.StatusPass
			}
			c.Trials = append(c.Trials, s)
		}
		return c
	}
	m := eval.NewReport([]eval.CaseResult{trials(2, 4), trials(4, 4)}).Metrics
	// pass@2 of 2 of 4: 1 - C(2,2)/C(4,2) = 5/6; pass^2: C(2,2)/C(4,2) = 1/6.
	near(t, "pass@1", m.PassAt[0], 0.75)
	near(t, "pass@2", m.PassAt[1], (5.0/6+1)/2)
	near(t, "pass^2", m.PassAll[1], (1.0/6+1)/2)
	near(t, "pass^4", m.PassAll[3], 0.5)
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-5 {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}

func TestNewShare(t *testing.T) {
	s := eval.NewShare(8, 10)
	near(t, "low", *s.Low, 0.490162)
	near(t, "high", *s.High, 0.943318)
	if s := eval.NewShare(0, 0); s.Value != nil || s.Low != nil {
		t.Errorf("a share of nothing is %+v", s)
	}
}

func TestCompare(t *testing.T) {
	rep := func(statuses map[string]eval.Status) *eval.Report {
		var results []eval.CaseResult
		for _, id := range []string{"a", "b", "c", "d"} {
			if s, ok := statuses[id]; ok {
				results = append(results, eval.CaseResult{ID: id, Status: s})
			}
		}
		return eval.NewReport(results)
	}
	got := eval.Compare(
		rep(map[string]eval.Status{"a": eval.StatusPass, "b": eval.StatusFail, "c": eval.StatusPass}),
		rep(map[string]eval.Status{"a": eval.StatusFail, "b": eval.StatusPass, "d": eval.StatusPass}))
	want := []eval.Change{
		{ID: "a", Before: eval.StatusPass, After: eval.StatusFail},
		{ID: "b", Before: eval.StatusFail, After: eval.StatusPass},
		{ID: "c", Before: eval.StatusPass},
		{ID: "d", After: eval.StatusPass},
	}
	if diff := cmp.Diff(want, got.Changes); diff != "" {
		t.Error(diff)
	}
	if got.Better != 1 || got.Worse != 1 {
		t.Errorf("better %d, worse %d", got.Better, got.Worse)
	}
}

// TestCompare_unjudged: a run that left its tape, or was not run, shows no behaviour to compare, and no
// metric of it is a change.
func TestCompare_unjudged(t *testing.T) {
	rep := func(status eval.Status, turn eval.TurnResult, f1 *float64) *eval.Report {
		r := eval.NewReport([]eval.CaseResult{{ID: "a", Status: status, Turns: []eval.TurnResult{turn}}})
		r.Metrics.Call.F1 = f1
		return r
	}
	passed := rep(eval.StatusPass, eval.TurnResult{User: "Which?", Answer: "It is one."}, new(1.0))
	for _, status := range []eval.Status{eval.StatusDrift, eval.StatusInfra, eval.StatusInvalid} {
		got := eval.Compare(passed, rep(status, eval.TurnResult{User: "Which?", Error: "the request differs"}, nil))
		if len(got.Turns) > 0 || got.Outcomes != (eval.Outcomes{}) || got.Worse != 1 {
			t.Errorf("%s: %+v", status, got)
		}
		for _, m := range got.Metrics {
			if m.Name != "cases" {
				t.Errorf("%s: %s changed", status, m.Name)
			}
		}
	}
	asked := rep(eval.StatusNotAsked, eval.TurnResult{User: "Which?", Answer: "It is two."}, nil)
	if got := eval.Compare(passed, asked); got.OtherAnswer != 1 {
		t.Errorf("not asked again: %+v", got)
	}
}

// TestCompare_turns: differences between two runs are reported, even if both passed.
func TestCompare_turns(t *testing.T) {
	rep := func(args, answer string, tokens int) *eval.Report {
		return eval.NewReport([]eval.CaseResult{{ID: "a", Status: eval.StatusPass, Turns: []eval.TurnResult{{
			User: "Which?", Calls: []eval.CallResult{{Name: "f", Arguments: args, Output: "1"}}, Answer: answer, Tokens: tokens,
		}}}})
	}
	got := eval.Compare(rep(`{"n":1}`, "It is one.", 10), rep(`{"n":2}`, "It is two.", 12))
	want := []eval.ChangedCase{{ID: "a", Outcome: eval.OutcomeOtherCalls, Lines: []string{
		"  turn 1: Which?", `-   call f {"n":1}`, `+   call f {"n":2}`, "-   answer: It is one.", "+   answer: It is two.",
	}, Answers: []eval.AnswerPair{{Turn: 1, Was: "It is one.", Now: "It is two."}}}}
	if diff := cmp.Diff(want, got.Turns); diff != "" {
		t.Error(diff)
	}
	if len(got.Metrics) != 1 || got.Metrics[0].String() != "tokens: 10 → 12" {
		t.Errorf("metrics %+v", got.Metrics)
	}
	if same := eval.Compare(rep("{}", "x", 1), rep("{}", "x", 1)); len(same.Turns)+len(same.Metrics)+len(same.Changes) != 0 {
		t.Errorf("equal runs differ: %+v", same)
	}
}
