package agent_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"molar/agent"
	"molar/agent/memory"
	"molar/providers"
	"molar/schemas"
)

func family() agent.Assistant { return agent.Assistant{Tools: []string{"family__*"}} }

func familyBench(scripts ...script) *bench {
	b := newBench(scripts...)
	b.tools.add("family", "get", `{"name":"Nguyen"}`)
	return b
}

// One tool round costs two model calls, and its result reaches the model fenced and
// paired with the call.
func TestRun_oneToolRound(t *testing.T) {
	b := familyBench(calls("Let me look.", "family__get", `{"id":1}`), says("Family ", "Nguyen")).with(t, family())
	p := b.play(t, ask("who?"))
	if p.err != nil || p.text != "Family Nguyen" {
		t.Fatalf("answer %q, error %v", p.text, p.err)
	}
	if want := "start tool_call tool_result text done"; p.kinds() != want {
		t.Errorf("events %q, want %q", p.kinds(), want)
	}
	if diff := cmp.Diff([]providers.Pass{providers.PassTool, providers.PassAnswer}, b.model.passes()); diff != "" {
		t.Error(diff)
	}
	second := b.model.requests[1]
	if len(second.Tools) != 1 {
		t.Error("the agentic flow offers the tools beside the chat pass")
	}
	last := second.Messages[len(second.Messages)-2:]
	if got := last[0].Calls(); len(got) != 1 || got[0].ID != "call-family__get" {
		t.Errorf("calls in the history: %v", got)
	}
	result := last[1].Parts[0]
	if last[1].Role != schemas.RoleTool || result.Result.ID != "call-family__get" {
		t.Errorf("result is not paired: %+v", last[1])
	}
	if !strings.HasPrefix(result.Text, "<data-") || !strings.Contains(result.Text, `"toolName":"get"`) {
		t.Errorf("result is not fenced: %s", result.Text)
	}
	if p.done.ModelCalls != 2 || p.done.ToolCalls != 1 || !p.done.Saved {
		t.Errorf("done: %+v", p.done)
	}
	if rec := b.memory.saved[0]; rec.Answer != "Family Nguyen" || len(rec.Rounds) != 2 || rec.ServersRead[0] != "family" {
		t.Errorf("saved: %+v", rec)
	}
}

func TestRun_noToolWantedCostsOneCall(t *testing.T) {
	b := familyBench(says("Hello.\n", "How can I help?")).with(t, family())
	p := b.play(t, ask("hi"))
	if p.text != "Hello.\nHow can I help?" || p.done.ModelCalls != 1 {
		t.Errorf("answer %q in %d calls", p.text, p.done.ModelCalls)
	}
}

func TestRun_twoPass(t *testing.T) {
	as := family()
	as.Flow = agent.FlowTwoPass
	t.Run("one tool round, then a pass without tools", func(t *testing.T) {
		b := familyBench(calls("", "family__get", "{}"), says("done")).with(t, as)
		p := b.play(t, ask("who?"))
		if p.text != "done" || len(b.model.requests) != 2 || len(b.model.requests[1].Tools) != 0 {
			t.Errorf("answer %q, %d calls, tools in the second: %d", p.text, len(b.model.requests), len(b.model.requests[1].Tools))
		}
	})
	t.Run("text without a call is the answer", func(t *testing.T) {
		b := familyBench(says("direct")).with(t, as)
		if p := b.play(t, ask("who?")); p.text != "direct" || p.done.ModelCalls != 1 {
			t.Errorf("answer %q in %d calls", p.text, p.done.ModelCalls)
		}
	})
	t.Run("unless a chat pass is demanded", func(t *testing.T) {
		as := as
		as.NeedsChatPass = true
		b := familyBench(says("thinking aloud"), says("answer")).with(t, as)
		if p := b.play(t, ask("who?")); p.text != "answer" || p.done.ModelCalls != 2 {
			t.Errorf("answer %q in %d calls", p.text, p.done.ModelCalls)
		}
	})
}

// Text before a call: short text is dropped, text that was shown stays, and what
// follows is set apart by a blank line.
func TestRun_hold(t *testing.T) {
	long := strings.Repeat("x", 170)
	b := familyBench(calls(long, "family__get", "{}"), calls("I will call.", "family__get", "{}"), says("Answer")).with(t, family())
	if p := b.play(t, ask("who?")); p.text != long+"\n\nAnswer" {
		t.Errorf("answer %q", p.text)
	}
}

func TestRun_limits(t *testing.T) {
	b := familyBench(calls("", "family__get", "{}"))
	b.limits = agent.Limits{Rounds: 2}
	b.model.scripts = []script{calls("", "family__get", "{}"), calls("", "family__get", "{}"), says("known so far")}
	b.with(t, family())
	p := b.play(t, ask("who?"))
	if p.text != "known so far" || p.done.ModelCalls != 3 {
		t.Fatalf("answer %q in %d calls, %v", p.text, p.done.ModelCalls, p.err)
	}
	last := b.model.requests[2]
	if len(last.Tools) != 0 || !strings.Contains(last.System, "limit of 2 rounds") {
		t.Errorf("the last pass offers %d tools under %q", len(last.Tools), last.System)
	}
}

func TestRun_rejectsBadTurns(t *testing.T) {
	b := newBench(says("x")).with(t, agent.Assistant{})
	tests := []struct {
		name string
		turn agent.Turn
		want error
	}{
		{"no message", agent.Turn{}, agent.ErrInvalid},
		{"no user message", agent.Turn{Messages: []schemas.Message{schemas.Text(schemas.RoleAssistant, "x")}}, agent.ErrInvalid},
		{"empty text", ask(""), agent.ErrInvalid},
		{"invalid UTF-8", ask("\xff"), agent.ErrInvalid},
		{"unknown assistant", agent.Turn{Assistant: "nope"}, agent.ErrNotFound},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := b.play(t, tt.turn)
			if !errors.Is(p.err, tt.want) || p.done != nil {
				t.Errorf("error %v, want %v", p.err, tt.want)
			}
		})
	}
	if len(b.memory.saved) != 0 || len(b.model.requests) != 0 {
		t.Error("a bad turn was saved or reached the model")
	}
}

func TestRun_memoryDown(t *testing.T) {
	b := newBench(says("answer")).with(t, agent.Assistant{})
	b.memory.beginErr = errors.New("connection refused")
	p := b.play(t, ask("hello"))
	if p.err != nil || p.text != "answer" || p.done.Saved || len(p.done.Warnings) != 1 {
		t.Errorf("%q %v %+v", p.text, p.err, p.done)
	}
}

func TestRun_saving(t *testing.T) {
	t.Run("is tried again", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(says("answer")).with(t, agent.Assistant{})
			b.memory.saveErr = func(try int) error {
				if try < 4 {
					return errors.New("busy")
				}
				return nil
			}
			if p := b.play(t, ask("hello")); p.err != nil || !p.done.Saved {
				t.Errorf("%v %+v", p.err, p.done)
			}
		})
	})
	t.Run("fails after two seconds, and says so", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(says("answer")).with(t, agent.Assistant{})
			b.memory.saveErr = func(int) error { return errors.New("disk full") }
			start := time.Now()
			p := b.play(t, ask("hello"))
			if !errors.Is(p.err, agent.ErrNotSaved) || p.text != "answer" || p.done != nil {
				t.Errorf("%q %v %+v", p.text, p.err, p.done)
			}
			if took := time.Since(start); took != 2*time.Second {
				t.Errorf("gave up after %v", took)
			}
		})
	})
	t.Run("is refused at once for a stale lease", func(t *testing.T) {
		b := newBench(says("answer")).with(t, agent.Assistant{})
		b.memory.saveErr = func(int) error { return memory.ErrStale }
		if p := b.play(t, ask("hello")); !errors.Is(p.err, agent.ErrNotSaved) || b.memory.tries != 1 {
			t.Errorf("%v after %d tries", p.err, b.memory.tries)
		}
	})
}

// What was answered before a turn broke off is saved as interrupted.
func TestRun_interrupted(t *testing.T) {
	t.Run("by the model", func(t *testing.T) {
		b := newBench(breaks("half an")).with(t, agent.Assistant{})
		p := b.play(t, ask("hello"))
		if providers.KindOf(p.err) != providers.KindIncomplete || p.text != "half an" {
			t.Fatalf("%q %v", p.text, p.err)
		}
		if rec := b.memory.saved[0]; rec.Status != schemas.StatusInterrupted || rec.Answer != "half an" {
			t.Errorf("saved %+v", rec)
		}
	})
	t.Run("by the consumer", func(t *testing.T) {
		b := newBench(says("one ", "two ", "three")).with(t, agent.Assistant{})
		for e, err := range b.agent.Run(t.Context(), ask("hello")) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Kind == agent.EventText {
				break
			}
		}
		if b.model.stopped != 1 {
			t.Error("the model call was not stopped")
		}
		if rec := b.memory.saved[0]; rec.Status != schemas.StatusInterrupted || rec.Answer != "one " {
			t.Errorf("saved %+v", rec)
		}
		if b.recorder.last.Status != "interrupted" {
			t.Errorf("trace says %q", b.recorder.last.Status)
		}
	})
	t.Run("before any text, nothing is saved", func(t *testing.T) {
		b := newBench(breaks("")).with(t, agent.Assistant{})
		if b.play(t, ask("hello")); len(b.memory.saved) != 0 {
			t.Errorf("saved %+v", b.memory.saved)
		}
	})
}

func TestRun_repeatsAFinishedTurn(t *testing.T) {
	b := newBench(says("again")).with(t, agent.Assistant{})
	b.memory.opening.Finished = &memory.Finished{TurnID: "t1", Answer: "stored"}
	turn := ask("hello")
	turn.Key = "k"
	p := b.play(t, turn)
	if p.text != "stored" || !p.done.Saved || len(b.model.requests) != 0 || len(b.memory.saved) != 0 {
		t.Errorf("%q, %d model calls, %d saves", p.text, len(b.model.requests), len(b.memory.saved))
	}
}

func TestRun_emptyAnswerIsAnError(t *testing.T) {
	b := newBench(says("")).with(t, agent.Assistant{})
	if p := b.play(t, ask("hello")); providers.KindOf(p.err) != providers.KindIncomplete {
		t.Errorf("error %v", p.err)
	}
}

func TestRun_stateless(t *testing.T) {
	b := newBench(says("fine")).with(t, agent.Assistant{})
	turn := agent.Turn{Stateless: true, Messages: []schemas.Message{
		schemas.Text(schemas.RoleUser, "one"), schemas.Text(schemas.RoleAssistant, "two"), schemas.Text(schemas.RoleUser, "three"),
	}}
	p := b.play(t, turn)
	var said []string
	for _, m := range b.model.requests[0].Messages {
		said = append(said, string(m.Role)+": "+m.Said())
	}
	if diff := cmp.Diff([]string{"user: one", "assistant: two", "user: three"}, said); diff != "" || p.done.Saved {
		t.Error(diff, p.done)
	}
}

func TestRun_cancelled(t *testing.T) {
	b := newBench(says("x")).with(t, agent.Assistant{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var last error
	for _, err := range b.agent.Run(ctx, ask("hello")) {
		last = err
	}
	if !errors.Is(last, context.Canceled) {
		t.Errorf("error %v", last)
	}
}
