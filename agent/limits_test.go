package agent_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"molar/agent"
	"molar/agent/answer"
	"molar/providers"
	"molar/schemas"
)

// streams streams the chunks unchanged.
func streams(chunks ...providers.Chunk) script {
	return func(_ providers.Request, yield func(providers.Chunk, error) bool) {
		for _, c := range chunks {
			if !yield(c, nil) {
				return
			}
		}
	}
}

func familyCall(id string) *schemas.ToolCall {
	return &schemas.ToolCall{ID: id, Function: schemas.FunctionCall{Name: "family__get", Arguments: "{}"}}
}

// A model that makes the same call for ever is executed once: the second and the third time it
// gets the same result, and then no more calls.
func TestRun_theSameCallForEver(t *testing.T) {
	b := familyBench(calls("What I know.", "family__get", "{}"))
	p := b.with(t, family()).play(t, ask("who?"))
	if p.err != nil || len(b.tools.called) != 1 || len(b.model.requests) != 4 {
		t.Fatalf("%d tool calls, %d model calls, %v", len(b.tools.called), len(b.model.requests), p.err)
	}
	if !b.model.requests[3].ForbidCalls || b.model.requests[2].ForbidCalls {
		t.Error("the last pass allows calls, or the one before does not")
	}
	var got []bool
	for _, e := range p.events {
		if e.Kind == answer.KindToolResult {
			got = append(got, strings.Contains(e.Result.OutputText(), "was made before"))
		}
	}
	if !slices.Equal(got, []bool{false, true, true}) {
		t.Errorf("the results that say so: %v", got)
	}
}

// A model that never stops calling tools, even if none is offered, gets as many rounds as the
// limit allows and one pass without tools, in which no call is executed.
func TestRun_aModelThatNeverStopsCalling(t *testing.T) {
	tests := []struct {
		name          string
		limits        agent.Limits
		script        script
		models, tools int
		text          string
		kind          providers.Kind
	}{
		{"rounds", agent.Limits{Rounds: 3}, calls("", "family__get", "{}"), 4, 3, "", providers.KindIncomplete},
		{"calls", agent.Limits{Calls: 2}, calls("", "family__get", "{}"), 3, 2, "", providers.KindIncomplete},
		{"calls of one answer", agent.Limits{Calls: 2}, calls("", "family__get", "{}", "family__get", "{}", "family__get", "{}"), 2, 2, "", providers.KindIncomplete},
		{"text beside the calls", agent.Limits{Rounds: 1}, calls("What I know.", "family__get", "{}"), 2, 1, "What I know.", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := familyBench(tt.script)
			b.limits = tt.limits
			b.tools.tools[0].Rules.Poll = true // else a repeated call ends the rounds
			b.with(t, family())
			p := b.play(t, ask("who?"))
			if p.text != tt.text || providers.KindOf(p.err) != tt.kind || (p.err == nil) != (p.done != nil) {
				t.Errorf("answer %q, error %v, done %v", p.text, p.err, p.done)
			}
			if len(b.model.requests) != tt.models || len(b.tools.called) != tt.tools {
				t.Errorf("%d model calls and %d tool calls, want %d and %d", len(b.model.requests), len(b.tools.called), tt.models, tt.tools)
			}
			if last := b.model.requests[tt.models-1]; !last.ForbidCalls || len(last.Tools) == 0 {
				t.Error("the last pass allows calls, or has lost the tools")
			}
		})
	}
	t.Run("nothing offered at all", func(t *testing.T) {
		b := newBench(calls("", "made__up", "{}")).with(t, schemas.Assistant{})
		if p := b.play(t, ask("who?")); providers.KindOf(p.err) != providers.KindIncomplete || len(b.model.requests) != 1 {
			t.Errorf("error %v after %d model calls", p.err, len(b.model.requests))
		}
	})
}

// The time for tools is limited too: a call beyond it gets no result, and the model answers with
// what it has.
func TestRun_timeForTools(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := familyBench(calls("", "family__get", "{}"), says("known so far"))
		b.calling(t, agent.Limits{ToolTime: 5 * time.Second}, func(ctx context.Context, _ string) (schemas.ToolResult, error) {
			<-ctx.Done()
			return schemas.ToolResult{}, ctx.Err()
		})
		start := time.Now()
		p := b.play(t, ask("who?"))
		if p.text != "known so far" || time.Since(start) != 5*time.Second || !b.model.requests[1].ForbidCalls {
			t.Errorf("answer %q after %v, error %v", p.text, time.Since(start), p.err)
		}
	})
}

// A cut or withheld answer runs none of its tool calls; its text stays, and the client gets the
// reason.
func TestRun_cutAnswers(t *testing.T) {
	call := providers.Chunk{Call: familyCall("1")}
	text := func(s string) providers.Chunk { return providers.Chunk{Text: s} }
	for _, reason := range []providers.FinishReason{providers.FinishLength, providers.FinishContentFilter} {
		end := providers.Chunk{Finish: reason}
		tests := []struct {
			name   string
			script script
			text   string
		}{
			{"text", streams(text("It is "), text("Ngu"), end), "It is Ngu"},
			{"text, then a half-made step", streams(text("Let me look."), call, end), "Let me look."},
			{"a half-made step alone", streams(call, end), ""},
			{"nothing", streams(end), ""},
		}
		for _, tt := range tests {
			t.Run(string(reason)+": "+tt.name, func(t *testing.T) {
				b := familyBench(tt.script).with(t, family())
				p := b.play(t, ask("who?"))
				if p.err != nil || p.text != tt.text || p.done.Finish != reason || len(b.tools.called) != 0 {
					t.Fatalf("answer %q, done %+v, error %v, called %v", p.text, p.done, p.err, b.tools.called)
				}
				// An empty answer is reported and not saved.
				if silent := tt.text == ""; p.done.Saved == silent || len(p.done.Warnings) == 0 == silent {
					t.Errorf("saved %v, warnings %v", p.done.Saved, p.done.Warnings)
				}
			})
		}
	}
}

// Calls that were not executed leave no call without a result in the history.
func TestRun_cutStepLeavesNoOpenCall(t *testing.T) {
	b := familyBench(
		calls("", "family__get", "{}"),
		streams(providers.Chunk{Text: "It is Ngu", State: state("t")}, providers.Chunk{Call: familyCall("2"), State: state("c")}, providers.Chunk{Finish: providers.FinishLength}),
	).with(t, family())
	if p := b.play(t, ask("who?")); p.err != nil || p.text != "It is Ngu" {
		t.Fatalf("answer %q, error %v", p.text, p.err)
	}
	b.memory.opening = storedOpening(t, b.memory.saved[0])
	b.model.scripts = []script{says("again")}
	b.play(t, ask("and now?"))
	var roles []schemas.Role
	open := 0
	for _, m := range b.model.requests[len(b.model.requests)-1].Messages {
		roles = append(roles, m.Role)
		open += len(m.Calls())
		for _, p := range m.Parts {
			if p.Kind == schemas.PartResult {
				open--
			}
		}
	}
	want := []schemas.Role{"user", "assistant", "tool", "assistant", "user"}
	if diff := cmp.Diff(want, roles); diff != "" || open != 0 {
		t.Errorf("%d calls without a result; roles (-want +got)\n%s", open, diff)
	}
}

// Sources found by code are data, not text, if there is no answer that they could follow.
func TestRun_withheldAnswerShowsNoSources(t *testing.T) {
	b := newBench(streams(providers.Chunk{Finish: providers.FinishContentFilter}))
	b.tools.add("tool-server", "guide", `[{"title":"Brushing","url":"https://example.org/brush"}]`)
	b.with(t, schemas.Assistant{Topic: "dental", Search: []string{"guide"}})
	p := b.play(t, ask("How often should I brush my teeth to avoid cavities?"))
	if p.err != nil || p.text != "" || len(p.done.Sources) != 1 || p.done.Finish != providers.FinishContentFilter {
		t.Errorf("answer %q, done %+v, error %v", p.text, p.done, p.err)
	}
}

// If the model fails after a tool has run, the turn ends with the model's own error; the tool is
// not run again, and its result is stored.
func TestRun_modelFailsAfterATool(t *testing.T) {
	b := familyBench(calls("", "family__get", "{}"), breaks("")).with(t, family())
	p := b.play(t, ask("who?"))
	if providers.KindOf(p.err) != providers.KindIncomplete || len(b.tools.called) != 1 || len(b.memory.saved) != 1 {
		t.Fatalf("error %v, called %v, saved %v", p.err, b.tools.called, b.memory.saved)
	}
	if rec := b.memory.saved[0]; rec.Status != schemas.StatusInterrupted || len(rec.Rounds) != 1 || len(rec.Rounds[0].Results) != 1 {
		t.Errorf("saved %+v", rec)
	}
}
