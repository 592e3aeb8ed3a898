package eval_test

import (
	"context"
	"encoding/json"
	"iter"
	"testing"

	"molar/agent"
	"molar/agent/answer"
	"molar/eval"
	"molar/eval/tape"
	"molar/schemas"
)

// A scriptedHost makes the call in every second run, and none in the others.
type scriptedHost struct{ runs *int }

func (h scriptedHost) Run(context.Context, agent.Turn) iter.Seq2[answer.Event, error] {
	return func(yield func(answer.Event, error) bool) {
		*h.runs++
		if *h.runs%2 == 0 {
			made := call("s__f", `{"n":1}`)
			if !yield(answer.Event{Kind: answer.KindToolCall, Call: &made, Server: "s", ToolName: "f"}, nil) {
				return
			}
		}
		yield(answer.Event{Kind: answer.KindDone, Done: &answer.Done{ModelCalls: 2, Usage: schemas.Usage{TotalTokens: 10}}}, nil)
	}
}

func (scriptedHost) Settle(context.Context) error { return nil }
func (scriptedHost) Ready(context.Context) error  { return nil }
func (scriptedHost) Close()                       {}

// trial runs a case that expects one call.
func trial(t *testing.T, mode eval.Mode, trials int) *eval.Report {
	t.Helper()
	cases := writeCase(t, `{calls: {items: [{name: f, args: {n: 1}}]}}`, func(b *tape.Builder) {
		b.ModelAnswer("offline", "tool", tape.WireAnswer{Calls: []tape.Call{{ID: "1", Name: "s__f", Arguments: `{"n":1}`}}}, "")
		b.Call(1, "s", "f", call("s__f", `{"n":1}`), json.RawMessage(`1`), false)
		b.Answer("")
	})
	runs := 0
	runner, err := eval.New(eval.Config{
		Open: func(context.Context, *eval.Case, *tape.Player, eval.Edges) (eval.Host, error) {
			return scriptedHost{&runs}, nil
		},
		Mode: mode, Trials: trials,
	})
	if err != nil {
		t.Fatal(err)
	}
	rep, err := runner.Run(t.Context(), cases)
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

// TestMetrics_trials: every trial counts, not only the one that is shown.
func TestMetrics_trials(t *testing.T) {
	m := trial(t, eval.Mode{LiveModel: true, LiveTools: true}, 4).Metrics
	if m.Call.F1 == nil || *m.Call.F1 != 0.666667 || m.ModelCalls != 8 || m.Tokens != 40 || m.ToolCalls != 2 {
		t.Errorf("F1 %v, %d model calls, %d tokens, %d tool calls", m.Call.F1, m.ModelCalls, m.Tokens, m.ToolCalls)
	}
	if m.CallMatrix.Called != 2 || m.CallMatrix.Missed != 2 {
		t.Errorf("matrix %+v", m.CallMatrix)
	}
}

// TestMetrics_drift: after drift the model was not asked what to call, so that no call counts as
// missed.
func TestMetrics_drift(t *testing.T) {
	rep := trial(t, eval.Mode{}, 1)
	if rep.Cases[0].Status != eval.StatusDrift {
		t.Fatalf("status %s", rep.Cases[0].Status)
	}
	if m := rep.Metrics; m.CallMatrix.Missed != 0 || m.Call.Recall != nil {
		t.Errorf("missed %d, recall %v", m.CallMatrix.Missed, m.Call.Recall)
	}
}
