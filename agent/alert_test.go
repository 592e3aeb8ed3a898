package agent_test

import (
	"errors"
	"strings"
	"testing"

	"molar/agent"
	"molar/providers"
	"molar/schemas"
)

const emergencyEN = "My tooth is infected, my cheek is swollen and I have a fever. Which dentist should I see?"

func dental() agent.Assistant {
	return agent.Assistant{Topic: "dental", Search: []string{"guide"}}
}

func dentalBench(scripts ...script) *bench {
	b := newBench(scripts...)
	b.tools.add("tool-server", "guide", `"Title: Abscess\nContent: See a dentist.\nLink: https://a.example/abscess"`)
	return b
}

// The notice is the first text of the answer: behind the verdict, before the search,
// and a part of what is saved.
func TestRun_emergency(t *testing.T) {
	b := dentalBench(says("See one today.")).with(t, dental())
	p := b.play(t, ask(emergencyEN))
	if p.err != nil || !strings.HasPrefix(p.text, "**This may be an emergency. Call 115 in Vietnam") {
		t.Fatalf("%q %v", p.text, p.err)
	}
	if !strings.Contains(p.text, "\n\nSee one today.\n\nSources:") {
		t.Errorf("the answer is not set apart: %q", p.text)
	}
	if want := "start text tool_call tool_result text text sources done"; p.kinds() != want {
		t.Errorf("events %q, want %q", p.kinds(), want)
	}
	if rec := b.memory.saved[0]; rec.Answer != p.text {
		t.Errorf("saved %q", rec.Answer)
	}
	question := b.model.requests[0].Messages[0].FullText()
	if !strings.Contains(question, "has been shown this emergency notice already") {
		t.Errorf("the model is not told: %s", question)
	}
}

func TestRun_emergency_inTheLanguageOfThePerson(t *testing.T) {
	for _, question := range []string{"Răng sâu làm má em sưng to và sốt cao", "rang khon sung to, em bi sot cao va dau rang lam"} {
		b := dentalBench(says("Đi khám ngay.")).with(t, dental())
		if p := b.play(t, ask(question)); !strings.HasPrefix(p.text, "**Đây có thể là trường hợp cấp cứu") {
			t.Errorf("%q: %q %v", question, p.text, p.err)
		}
	}
}

// Whatever fails after the notice, it was shown, and it is kept as interrupted.
func TestRun_emergency_survivesWhatFails(t *testing.T) {
	tests := map[string]struct {
		b    *bench
		fail func(*bench)
	}{
		"search":          {dentalBench(says("x")), func(b *bench) { delete(b.tools.results, "guide") }},
		"model":           {dentalBench(breaks("")), nil},
		"model, half way": {dentalBench(breaks("See")), nil},
		"silent model":    {dentalBench(says("")), nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b := tt.b.with(t, dental())
			if tt.fail != nil {
				tt.fail(b)
			}
			p := b.play(t, ask(emergencyEN))
			if p.err == nil || p.done != nil {
				t.Fatalf("the turn did not fail: %q", p.text)
			}
			if name == "search" && !errors.Is(p.err, agent.ErrUnavailable) {
				t.Errorf("error %v", p.err)
			}
			if name == "silent model" && providers.KindOf(p.err) != providers.KindIncomplete {
				t.Errorf("error %v", p.err)
			}
			if !strings.Contains(p.text, "This may be an emergency") {
				t.Fatalf("shown: %q", p.text)
			}
			if len(b.memory.saved) != 1 || b.memory.saved[0].Status != schemas.StatusInterrupted || b.memory.saved[0].Answer != p.text {
				t.Errorf("saved %+v", b.memory.saved)
			}
		})
	}
}

// Who cannot breathe reads the notice also where the question is refused or cannot be
// judged; nothing of it is saved.
func TestRun_emergency_refused(t *testing.T) {
	for name, judge := range map[string]script{"refused": says("NO"), "no judge": breaks("")} {
		b := dentalBench(says("x"))
		b.model.judge = judge
		b.with(t, dental())
		p := b.play(t, ask("I suddenly have trouble breathing, what is this one about?"))
		if p.err != nil || !p.done.Refused || !strings.HasPrefix(p.text, "**This may be an emergency") || strings.Count(p.text, "\n\n") < 2 {
			t.Errorf("%s: %q %v", name, p.text, p.err)
		}
		if len(b.memory.saved) != 0 || len(b.tools.called) != 0 {
			t.Errorf("%s: saved %v, called %v", name, b.memory.saved, b.tools.called)
		}
	}
	b := dentalBench(says("x"))
	b.model.judge = says("NO")
	b.with(t, dental())
	for event, err := range b.agent.Run(t.Context(), ask("I suddenly have trouble breathing, what is this one about?")) {
		if err != nil {
			t.Fatal(err)
		}
		if event.Kind == agent.EventText {
			break // the client leaves in the middle
		}
	}
	if len(b.memory.saved) != 0 {
		t.Errorf("a refused turn was saved: %+v", b.memory.saved)
	}
}

func TestRun_emergency_notWithoutOne(t *testing.T) {
	b := dentalBench(says("answer"), says("answer")).with(t, dental())
	if p := b.play(t, ask("How often should I brush my teeth? I have no fever.")); strings.Contains(p.text, "emergency") {
		t.Errorf("%q", p.text)
	}
	b = newBench(says("answer")).with(t, agent.Assistant{})
	if p := b.play(t, ask(emergencyEN)); p.text != "answer" {
		t.Errorf("an assistant without the topic says %q", p.text)
	}
}

// The fever of this question and the swelling of the last one belong together.
func TestRun_emergency_withTheQuestionBefore(t *testing.T) {
	b := dentalBench(says("answer"))
	b.memory.opening.Messages = []schemas.StoredMessage{
		{Seq: 1, Role: schemas.RoleUser, Content: "My gum is swollen around a tooth"}, {Seq: 2, Role: schemas.RoleAssistant, Content: "Rinse."},
	}
	if p := b.with(t, dental()).play(t, ask("and now I have a fever of 39 with that toothache")); !strings.HasPrefix(p.text, "**This may") {
		t.Errorf("%q %v", p.text, p.err)
	}
}

// A client that wants JSON gets JSON, and the notice beside it.
func TestRun_emergency_JSON(t *testing.T) {
	b := dentalBench(says(`{"a":1}`)).with(t, dental())
	turn := ask(emergencyEN)
	turn.JSON = true
	p := b.play(t, turn)
	if p.text != `{"a":1}` || len(p.done.Warnings) != 1 || !strings.Contains(p.done.Warnings[0], "emergency") {
		t.Errorf("%q %v", p.text, p.done.Warnings)
	}
}
