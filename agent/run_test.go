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
	"molar/agent/answer"
	"molar/agent/memory"
	"molar/providers"
	"molar/schemas"
)

func family() schemas.Assistant { return schemas.Assistant{Tools: []string{"family__*"}} }

func familyBench(scripts ...script) *bench {
	b := newBench(scripts...)
	b.tools.add("family", "get", `{"name":"Nguyen"}`)
	return b
}

// One tool round costs two model calls, and its result is sent to the model fenced and paired
// with the call.
func TestRun_oneToolRound(t *testing.T) {
	b := familyBench(calls("Let me look.", "family__get", `{"id":1}`), says("Family ", "Nguyen")).with(t, family())
	p := b.play(t, ask("who?"))
	if p.err != nil || p.text != "Family Nguyen" {
		t.Fatalf("answer %q, error %v", p.text, p.err)
	}
	if want := "start text commentary tool_call tool_result text text done"; p.kinds() != want {
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
	if result.Text != `{"name":"Nguyen"}` {
		t.Errorf("the result does not stand as itself: %s", result.Text)
	}
	if p.done.ModelCalls != 2 || p.done.ToolCalls != 1 || !p.done.Saved {
		t.Errorf("done: %+v", p.done)
	}
	if rec := b.memory.saved[0]; rec.Answer != "Family Nguyen" || len(rec.Rounds) != 1 || rec.ServersRead[0] != "family" {
		// The last round says what the answer says, so it is not stored a second time.
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
	as.Flow = schemas.FlowTwoPass
	t.Run("one tool round, then a pass without tools", func(t *testing.T) {
		b := familyBench(calls("", "family__get", "{}"), says("done")).with(t, as)
		p := b.play(t, ask("who?"))
		if p.text != "done" || len(b.model.requests) != 2 || !b.model.requests[1].ForbidCalls {
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
		as.DirectAnswer = new(false)
		b := familyBench(says("thinking aloud"), says("answer")).with(t, as)
		if p := b.play(t, ask("who?")); p.text != "answer" || p.done.ModelCalls != 2 {
			t.Errorf("answer %q in %d calls", p.text, p.done.ModelCalls)
		}
	})
}

// Text before a call stays visible, as commentary: a blank line separates it from the rest, and
// it is not part of the answer, nor of the saved one.
func TestRun_commentary(t *testing.T) {
	b := familyBench(calls("Let me look.", "family__get", "{}"), calls("Once more.", "family__get", "{}"), says("An", "swer")).with(t, family())
	p := b.play(t, ask("who?"))
	if p.text != "Answer" || b.memory.saved[0].Answer != "Answer" {
		t.Errorf("answer %q, saved %q", p.text, b.memory.saved[0].Answer)
	}
	if diff := cmp.Diff([]string{"Let me look.", "Once more."}, p.commentary); diff != "" {
		t.Error(diff)
	}
	if got, want := visibleText(p), "Let me look.\n\nOnce more.\n\nAnswer"; got != want {
		t.Errorf("shown %q, want %q", got, want)
	}
}

// visibleText returns the text that a client reads that does not distinguish commentary.
func visibleText(p outcome) string {
	var b strings.Builder
	for _, e := range p.events {
		if e.Kind == answer.KindText {
			b.WriteString(e.Text)
		}
	}
	return b.String()
}

// Each piece of text is shown as it arrives, with tools offered and without.
func TestRun_showsTextAtOnce(t *testing.T) {
	for _, as := range []schemas.Assistant{{}, family()} {
		pieces := []string{"A", " piece", " without", " a line", " end"}
		b := familyBench(says(pieces...)).with(t, as)
		var got []string
		for _, e := range b.play(t, ask("who?")).events {
			if e.Kind == answer.KindText {
				got = append(got, e.Text)
			}
		}
		if diff := cmp.Diff(pieces, got); diff != "" {
			t.Error(diff)
		}
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
	rule := last.Messages[len(last.Messages)-1]
	if len(last.Tools) != 1 || !last.ForbidCalls || !strings.Contains(rule.FullText(), "limit of 2 rounds") {
		t.Errorf("the last pass offers %d tools, forbidden %v, under %q", len(last.Tools), last.ForbidCalls, rule.FullText())
	}
}

func TestRun_rejectsBadTurns(t *testing.T) {
	b := newBench(says("x")).with(t, schemas.Assistant{})
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

// refusal is an error response of the memory server.
type refusal int

func (r refusal) Error() string { return "refused" }
func (r refusal) RPCCode() int  { return int(r) }

// A store that does not answer is tried for two seconds. Then the turn continues without it, with
// a warning; a permanent error is reported at once.
func TestRun_memoryDown(t *testing.T) {
	for name, tt := range map[string]struct {
		err  error
		took time.Duration
	}{
		"away":           {errors.New("connection refused"), 2 * time.Second},
		"a fault of it":  {refusal(-32603), 2 * time.Second},
		"a bad request":  {refusal(-32602), 0},
		"another server": {memory.ErrForeign, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(says("answer")).with(t, schemas.Assistant{})
				b.memory.beginErr = tt.err
				began := time.Now()
				p := b.play(t, ask("hello"))
				if took := time.Since(began); p.err != nil || p.text != "answer" || took != tt.took {
					t.Fatalf("%q after %v, %v", p.text, took, p.err)
				}
				warned := 0
				for _, e := range p.events {
					if e.Unsaved {
						warned++
					}
				}
				if p.done.Saved || !p.done.Unsaved || len(p.done.Warnings) != 1 || !strings.Contains(p.done.Warnings[0], tt.err.Error()) || warned != 1 {
					t.Errorf("%+v, %d warnings of the store", p.done, warned)
				}
			})
		})
	}
}

// If a store is back within two seconds, the turn only waits.
func TestRun_memoryBackSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(says("answer")).with(t, schemas.Assistant{})
		b.memory.beginTry = func(try int) error {
			if try < 10 {
				return errors.New("connection refused")
			}
			return nil
		}
		if p := b.play(t, ask("hello")); p.err != nil || !p.done.Saved || p.done.Unsaved || len(p.done.Warnings) != 0 {
			t.Errorf("%v %+v", p.err, p.done)
		}
	})
}

// If memory is required, a turn without it is refused before any model call, except for an
// emergency and for turns that save nothing.
func TestRun_memoryRequired(t *testing.T) {
	stateless := ask("hello")
	stateless.Stateless, stateless.ConversationID = true, ""
	for name, tt := range map[string]struct {
		turn     agent.Turn
		topic    string
		answered bool
	}{
		"a known conversation": {ask("hello"), "", false},
		"a new conversation":   {askNew("hello"), "", false},
		"stateless":            {stateless, "", true},
		"an emergency":         {ask(emergencyEN), "dental", true},
		"a new emergency":      {askNew(emergencyEN), "dental", true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(says("See a dentist."))
				b.required, b.memory.beginErr = true, errors.New("disk is full")
				p := b.with(t, schemas.Assistant{Topic: tt.topic}).play(t, tt.turn)
				if tt.answered && (p.err != nil || !strings.Contains(p.text, "See a dentist.")) {
					t.Errorf("%q %v", p.text, p.err)
				}
				if !tt.answered && (!errors.Is(p.err, agent.ErrStore) || p.text != "" || len(b.model.requests) != 0) {
					t.Errorf("%q %v, %d model calls", p.text, p.err, len(b.model.requests))
				}
			})
		})
	}
}

func TestRun_saving(t *testing.T) {
	t.Run("is tried again", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(says("answer")).with(t, schemas.Assistant{})
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
			b := newBench(says("answer")).with(t, schemas.Assistant{})
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
		b := newBench(says("answer")).with(t, schemas.Assistant{})
		b.memory.saveErr = func(int) error { return memory.ErrStale }
		if p := b.play(t, ask("hello")); !errors.Is(p.err, agent.ErrNotSaved) || b.memory.tries != 1 {
			t.Errorf("%v after %d tries", p.err, b.memory.tries)
		}
	})
}

// At whatever event a consumer stops reading, the turn ends: no event follows, and no other tool
// is called.
func TestRun_consumerBreaksOffAnywhere(t *testing.T) {
	bench := func() *bench {
		b := newBench(calls("Let me see.", "family__get", "{}"), says("Twice ", "a day."))
		b.tools.add("tool-server", "guide", `"x"`)
		delete(b.tools.results, "guide") // it fails
		b.tools.add("tool-server", "web", `{"results":[{"title":"Brushing","url":"https://example.org/brush","snippet":"Twice a day."}]}`)
		b.tools.add("family", "get", `"x"`)
		return b.with(t, schemas.Assistant{Topic: "dental", Search: []string{"guide", "web"}, Tools: []string{"*"}})
	}
	const question = "How often should I brush my teeth?"
	whole := bench().play(t, ask(question))
	if whole.err != nil || len(whole.events) < 12 {
		t.Fatalf("%d events: %v", len(whole.events), whole.err)
	}
	for last := range whole.events {
		b, n := bench(), 0
		for _, err := range b.agent.Run(t.Context(), ask(question)) { // one more event would panic
			if err != nil {
				t.Fatal(err)
			}
			if n++; n > last {
				break
			}
		}
		if done := last == len(whole.events)-1; (b.recorder.last.Status == "done") != done {
			t.Errorf("broken off at %s: the trace says %q", whole.events[last].Kind, b.recorder.last.Status)
		}
	}
}

// The text of a turn that broke off is saved as interrupted.
func TestRun_interrupted(t *testing.T) {
	t.Run("by the model", func(t *testing.T) {
		b := newBench(breaks("half an")).with(t, schemas.Assistant{})
		p := b.play(t, ask("hello"))
		if providers.KindOf(p.err) != providers.KindIncomplete || p.text != "half an" {
			t.Fatalf("%q %v", p.text, p.err)
		}
		if rec := b.memory.saved[0]; rec.Status != schemas.StatusInterrupted || rec.Answer != "half an" {
			t.Errorf("saved %+v", rec)
		}
	})
	t.Run("by the consumer", func(t *testing.T) {
		b := newBench(says("one ", "two ", "three")).with(t, schemas.Assistant{})
		for e, err := range b.agent.Run(t.Context(), ask("hello")) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Kind == answer.KindText {
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
	t.Run("before any text, the question is kept", func(t *testing.T) {
		b := newBench(breaks("")).with(t, schemas.Assistant{})
		b.play(t, ask("hello"))
		if len(b.memory.saved) != 1 || b.memory.saved[0].User != "hello" || b.memory.saved[0].Status != schemas.StatusInterrupted {
			t.Errorf("saved %+v", b.memory.saved)
		}
	})
}

// The error of a turn that broke off reports which part of it is stored.
func TestRun_saysWhatIsKept(t *testing.T) {
	for name, c := range map[string]struct {
		said    string
		turn    func(*agent.Turn)
		saveErr error
		want    agent.StoredPart
	}{
		"an answer":          {said: "half an", want: agent.StoredAnswer},
		"before any text":    {want: agent.StoredQuestion},
		"stateless":          {said: "half an", turn: func(t *agent.Turn) { t.Stateless = true }, want: agent.StoredNothing},
		"the save failed":    {said: "half an", saveErr: memory.ErrStale, want: ""},
		"never a turn there": {turn: func(t *agent.Turn) { t.Assistant = "nobody" }, want: ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(breaks(c.said)).with(t, schemas.Assistant{})
			if c.saveErr != nil {
				b.memory.saveErr = func(int) error { return c.saveErr }
			}
			turn := ask("hello")
			if c.turn != nil {
				c.turn(&turn)
			}
			p := b.play(t, turn)
			if got := agent.StoredOf(p.err); p.err == nil || got != c.want {
				t.Errorf("%v keeps %q, want %q", p.err, got, c.want)
			}
		})
	}
}

func TestRun_repeatsAFinishedTurn(t *testing.T) {
	b := newBench(says("again")).with(t, schemas.Assistant{})
	b.memory.opening.Finished = &schemas.Finished{TurnID: "t1", Answer: "stored"}
	turn := ask("hello")
	turn.Key = "k"
	p := b.play(t, turn)
	if p.text != "stored" || !p.done.Saved || len(b.model.requests) != 0 || len(b.memory.saved) != 0 {
		t.Errorf("%q, %d model calls, %d saves", p.text, len(b.model.requests), len(b.memory.saved))
	}
}

func TestRun_emptyAnswerIsAnError(t *testing.T) {
	b := newBench(says("")).with(t, schemas.Assistant{})
	if p := b.play(t, ask("hello")); providers.KindOf(p.err) != providers.KindIncomplete {
		t.Errorf("error %v", p.err)
	}
}

func TestRun_stateless(t *testing.T) {
	b := newBench(says("fine")).with(t, schemas.Assistant{})
	turn := agent.Turn{Place: agent.Place{Stateless: true}, Messages: []schemas.Message{
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
	b := newBench(says("x")).with(t, schemas.Assistant{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var last error
	for _, err := range b.agent.Run(ctx, ask("hello")) {
		last = err
	}
	if !errors.Is(last, context.Canceled) {
		t.Errorf("error %v", last)
	}
	if got := b.recorder.last; got.Status != "interrupted" || got.Error != "" { // a person stopped it: not a failure
		t.Errorf("the trace says %q, %q", got.Status, got.Error)
	}
}

// The client's settings override the assistant's, which override the host's.
func TestRun_settings(t *testing.T) {
	as := family()
	as.Tuning = schemas.Tuning{TopP: new(0.5), MaxTokens: 100, Thinking: schemas.ThinkingHigh}
	b := familyBench(says("ok")).with(t, as)
	turn := ask("who?")
	turn.TopP, turn.Seed = new(0.9), new(int64(7))
	b.play(t, turn)
	req := b.model.requests[0]
	if *req.TopP != 0.9 || *req.Seed != 7 || req.MaxTokens != 100 || req.Thinking != schemas.ThinkingHigh || req.Temperature != nil || *req.DefaultTemperature != 0.2 {
		t.Errorf("request %+v", req)
	}
}
