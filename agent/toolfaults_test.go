package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"molar/agent"
	"molar/agent/answer"
	"molar/providers"
	"molar/schemas"
)

// Whatever goes wrong with calls, each gets one result in call order under its own id, the others
// still run, and the model continues with the results that exist.
func TestRun_faultsOfToolsKeepThePairing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(calls("", "family__get", `{}`, "family__hangs", `{}`, "family__fails", `{}`, "family__dies", `{}`,
			"family__panics", `{}`, "family__nope", `{}`, "default_api:family__last", `{}`, "family__broken", `{"a":`), says("done"))
		for _, name := range []string{"get", "hangs", "fails", "dies", "panics", "last", "broken"} {
			b.tools.add("family", name, `1`)
		}
		b.calling(t, agent.Limits{}, func(ctx context.Context, tool string) (schemas.ToolResult, error) {
			switch tool {
			case "hangs":
				<-ctx.Done()
				return schemas.ToolResult{}, ctx.Err()
			case "fails":
				return schemas.ToolResult{Output: json.RawMessage(`"no such family"`), IsError: true}, nil
			case "dies":
				return schemas.ToolResult{}, errors.New(`server "family" has stopped`)
			case "panics":
				panic("boom")
			}
			return schemas.ToolResult{Output: json.RawMessage(`"fine"`)}, nil
		})
		p := b.play(t, ask("who?"))
		if p.err != nil || p.text != "done" || p.done.ToolCalls != 8 {
			t.Fatalf("answer %q, done %+v, error %v", p.text, p.done, p.err)
		}
		history := b.model.requests[1].Messages
		asked, answers := history[len(history)-2].Calls(), history[len(history)-1]
		want := []struct{ id, says string }{
			{"get", "fine"},
			{"hangs", "gave no answer within 1m0s"},
			{"fails", "no such family"},
			{"dies", "has stopped"},
			{"panics", "could not run it"},
			{"nope", "there is no tool"},
			{"last", "fine"},
			{"broken", "not a JSON object"},
		}
		if len(asked) != len(want) || len(answers.Parts) != len(want) || answers.Role != schemas.RoleTool {
			t.Fatalf("%d calls and %d results in a message of role %s", len(asked), len(answers.Parts), answers.Role)
		}
		for i, part := range answers.Parts {
			r := part.Result
			if r.ID != asked[i].ID || !strings.HasSuffix(r.ID, want[i].id) || !strings.Contains(r.OutputText(), want[i].says) {
				t.Errorf("result %d: id %q of call %q says %q, want %q", i, r.ID, asked[i].ID, r.OutputText(), want[i].says)
			}
			if bad := want[i].says != "fine"; r.IsError != bad {
				t.Errorf("result %d: error %v", i, r.IsError)
			}
		}
	})
}

// The usage of a turn is the sum over its model calls, including the guardrail's; within one call
// the last total counts.
func TestRun_usageIsSummedOverTheRounds(t *testing.T) {
	used := func(prompt, completion int) providers.Chunk {
		return providers.Chunk{Usage: &schemas.Usage{PromptTokens: prompt, CompletionTokens: completion, TotalTokens: prompt + completion}}
	}
	b := familyBench(
		streams(used(10, 1), providers.Chunk{Call: familyCall("1")}, used(10, 5), providers.Chunk{Finish: providers.FinishToolCalls}),
		streams(providers.Chunk{Text: "Yes."}, used(100, 7), providers.Chunk{Finish: providers.FinishStop}),
	)
	b.model.judge = streams(providers.Chunk{Text: "YES"}, used(1000, 2), providers.Chunk{Finish: providers.FinishStop})
	as := family()
	as.Topic = "dental"
	p := b.with(t, as).play(t, ask(unsure))
	if p.err != nil {
		t.Fatal(p.err)
	}
	if diff := cmp.Diff(schemas.Usage{PromptTokens: 2110, CompletionTokens: 16, TotalTokens: 2126}, p.done.Usage); diff != "" {
		t.Error(diff)
	}
}

// The pages that a provider's answer is grounded on are in the list of sources, wherever in the
// stream they came.
func TestRun_sourcesOfTheProvider(t *testing.T) {
	page := providers.Chunk{Sources: []schemas.Source{{Title: "Răng", URL: "https://a.example/r"}}}
	b := newBench(streams(page, providers.Chunk{Text: "Sâu răng."}, page, providers.Chunk{Finish: providers.FinishStop})).with(t, schemas.Assistant{})
	p := b.play(t, ask("What is tooth decay?"))
	if want := "Sâu răng.\n\nSources:\n\n1. [Răng](https://a.example/r)"; p.text != want || len(p.done.Sources) != 1 {
		t.Errorf("answer %q with sources %v", p.text, p.done.Sources)
	}
}

// A call counts as possibly effective only if it was sent and neither the operator nor the server
// marks the tool as read-only or idempotent.
func TestRun_callsWithAnEffect(t *testing.T) {
	yes := true
	tests := map[string]struct {
		server         string
		change         func(*schemas.Tool)
		fails          bool
		arguments      string
		begun, reached bool
	}{
		"nothing is said of it":      {"srv", func(*schemas.Tool) {}, false, `{}`, true, true},
		"its server breaks":          {"srv", func(*schemas.Tool) {}, true, `{}`, true, true},
		"arguments that do not fit":  {"srv", func(*schemas.Tool) {}, false, `[]`, true, false},
		"marked as a reader":         {"srv", func(t *schemas.Tool) { t.Rules.ReadOnly = true }, false, `{}`, false, false},
		"marked as idempotent":       {"srv", func(t *schemas.Tool) { t.Rules.Idempotent = true }, true, `{}`, false, false},
		"calls itself a reader":      {"srv", func(t *schemas.Tool) { t.Annotations.ReadOnlyHint = &yes }, false, `{}`, false, false},
		"calls itself idempotent":    {"srv", func(t *schemas.Tool) { t.Annotations.IdempotentHint = &yes }, false, `{}`, false, false},
		"a built-in search":          {"tool-server", func(*schemas.Tool) {}, false, `{}`, false, false},
		"a built-in search, failing": {"tool-server", func(*schemas.Tool) {}, true, `{}`, false, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b := newBench(calls("", tt.server+"__do", tt.arguments), says("ok"))
			b.tools.add(tt.server, "do", `"done"`)
			tt.change(&b.tools.tools[0])
			if tt.fails {
				delete(b.tools.results, "do")
			}
			p := b.with(t, schemas.Assistant{Tools: []string{"*"}}).play(t, ask("q"))
			if p.err != nil {
				t.Fatal(p.err)
			}
			var begun, reached bool
			for _, e := range p.events {
				begun = begun || e.Kind == answer.KindToolCall && e.Effect
				reached = reached || e.Kind == answer.KindToolResult && e.Effect
			}
			if begun != tt.begun || reached != tt.reached {
				t.Errorf("begun %v, reached %v; want %v, %v", begun, reached, tt.begun, tt.reached)
			}
		})
	}
}

// A null that a tool's schema does not take is nowhere: not in what is shown, sent, kept and read again.
func TestRun_dropsNulls(t *testing.T) {
	b := newBench(calls("", "srv__do", `{"q":"x","limit":null}`), says("ok"))
	b.tools.add("srv", "do", `"done"`)
	b.tools.takes(`{"q":{"type":"string"},"limit":{"type":"integer"}}`)
	p := b.with(t, schemas.Assistant{Tools: []string{"*"}}).play(t, ask("q"))
	if p.err != nil {
		t.Fatal(p.err)
	}
	history := b.model.requests[1].Messages
	got := []string{b.tools.called[0], history[len(history)-2].Calls()[0].Function.Arguments, b.memory.saved[0].Rounds[0].Said.Calls()[0].Function.Arguments}
	for _, e := range p.events {
		if e.Kind == answer.KindToolCall {
			got = append(got, e.Call.Function.Arguments)
		}
	}
	want := `{"q":"x"}`
	if diff := cmp.Diff([]string{"do " + want, want, want, want}, got); diff != "" {
		t.Error(diff)
	}
}
