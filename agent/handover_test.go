package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/agent"
	"molar/agent/answer"
	"molar/agent/prompts"
	"molar/schemas"
)

// fakeDesk is a desk with at most one hand-over.
type fakeDesk struct {
	open         *schemas.Handover
	foundNothing bool
	openErr      error
	sayErr       error
	said         []string
}

func (f *fakeDesk) Open(_ context.Context, owner, conversation string) (schemas.Handover, bool, error) {
	if f.open == nil || owner != visitor || conversation != "c1" {
		return schemas.Handover{}, false, f.openErr
	}
	return *f.open, true, f.openErr
}

func (f *fakeDesk) Say(_ context.Context, _ schemas.Handover, _, text string) error {
	f.said = append(f.said, text)
	return f.sayErr
}

func (f *fakeDesk) FoundNothing(context.Context, string, string) (bool, error) {
	return f.foundNothing, nil
}

const visitor = "visitor:1"

// visits is a question of a visitor.
func visits(text string) agent.Turn {
	t := ask(text)
	t.Owner, t.Visitor, t.AskNever = visitor, true, true
	return t
}

// withDesk builds the agent of the dental topic with a desk, and a model that says "An answer."
func withDesk(t *testing.T, desk *fakeDesk) *bench {
	t.Helper()
	b := newBench(says("An answer."))
	b.model.judge = refuses("car")
	b.desk = desk
	return b.with(t, schemas.Assistant{Topic: "dental", Summarize: schemas.SummarizeCompaction})
}

func TestHandover_OffersAPerson(t *testing.T) {
	waiting := &schemas.Handover{State: schemas.HandoverDelivered, Callback: true}
	tests := map[string]struct {
		desk   fakeDesk
		turn   agent.Turn
		want   schemas.HandoverReason
		answer string // "" is the model's
	}{
		"only a person is asked for":   {turn: visits("I want to talk to a human"), want: schemas.HandoverWords, answer: prompts.OfferPerson("en", true)},
		"in Vietnamese, without marks": {turn: visits("cho em gap nhan vien voi a"), want: schemas.HandoverWords, answer: prompts.OfferPerson("vi", true)},
		"a question too":               {turn: visits("Does a root canal hurt? I want to talk to a person too"), want: schemas.HandoverWords},
		"a question outside the topic": {turn: visits("How do I repair my car engine? Let me talk to a human"), want: schemas.HandoverWords, answer: prompts.OfferPerson("en", true)},
		"nobody is asked for":          {turn: visits("Can a person with braces eat nuts?")},
		"the desk will call":           {desk: fakeDesk{open: waiting}, turn: visits("I want to talk to a human"), answer: prompts.OfferPerson("en", false)},
		"nobody was reached":           {desk: fakeDesk{open: &schemas.Handover{State: schemas.HandoverFailed}}, turn: visits("I want to talk to a human"), want: schemas.HandoverWords, answer: prompts.OfferPerson("en", true)},
		"somebody with a key":          {turn: ask("I want to talk to a dentist about my teeth")},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b := withDesk(t, &tt.desk)
			p := b.play(t, tt.turn)
			if p.err != nil {
				t.Fatal(p.err)
			}
			if p.done.Handover != tt.want || p.done.WithDesk || len(tt.desk.said) > 0 {
				t.Errorf("Done = %+v, the desk was told %q; want hand-over %q", p.done, tt.desk.said, tt.want)
			}
			if tt.answer == "" {
				tt.answer = "An answer."
			}
			if p.text != tt.answer {
				t.Errorf("answer = %q, want %q", p.text, tt.answer)
			}
			if !p.done.Refused && (len(b.memory.saved) != 1 || b.memory.saved[0].Answer != tt.answer) {
				t.Errorf("saved %+v", b.memory.saved)
			}
		})
	}
}

// Without a desk nobody is offered, as nobody can be reached.
func TestHandover_NoDesk(t *testing.T) {
	b := newBench(says("An answer.")).with(t, schemas.Assistant{})
	p := b.play(t, visits("I want to talk to a human"))
	if p.err != nil || p.done.Handover != "" || p.text != "An answer." {
		t.Errorf("%q, %+v, %v", p.text, p.done, p.err)
	}
}

func TestHandover_DeskAnswers(t *testing.T) {
	for name, h := range map[string]schemas.Handover{
		"sent": {State: schemas.HandoverSending}, "delivered": {State: schemas.HandoverDelivered},
		"answered": {State: schemas.HandoverAnswered}, "answered from outside the hours": {State: schemas.HandoverAnswered, Callback: true},
	} {
		t.Run(name, func(t *testing.T) {
			desk := &fakeDesk{open: &h}
			b := withDesk(t, desk)
			for _, text := range []string{"Is Saturday free?", "how do I fix my car", "I want to talk to a human"} { // outside the topic, too
				p := b.play(t, visits(text))
				if p.err != nil || !p.done.WithDesk || p.done.Handover != "" || p.done.Refused || p.text != "" {
					t.Errorf("%q: %q, %+v, %v", text, p.text, p.done, p.err)
				}
				saved := b.memory.saved[len(b.memory.saved)-1]
				if saved.User != text || saved.Answer != "" || saved.Status != "" || saved.Rounds[0].Unanswered != schemas.UnansweredDesk {
					t.Errorf("saved %+v", saved)
				}
				if trace := b.recorder.last; !trace.Done.WithDesk || trace.Outcome != "" || answer.OutcomeOf(trace) != schemas.OutcomeDone {
					t.Errorf("trace %+v", trace.Done)
				}
			}
			if len(b.model.requests) > 0 {
				t.Errorf("a model spoke: %d requests", len(b.model.requests))
			}
			if diff := cmp.Diff([]string{"Is Saturday free?", "how do I fix my car", "I want to talk to a human"}, desk.said); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestHandover_AssistantGoesOn(t *testing.T) {
	for name, h := range map[string]schemas.Handover{
		"outside the hours": {State: schemas.HandoverDelivered, Callback: true}, "failed": {State: schemas.HandoverFailed},
	} {
		t.Run(name, func(t *testing.T) {
			desk := &fakeDesk{open: &h}
			if p := withDesk(t, desk).play(t, visits("Does a root canal hurt?")); p.err != nil || p.text != "An answer." || p.done.WithDesk || len(desk.said) > 0 {
				t.Errorf("%q, %+v, %v, told %q", p.text, p.done, p.err, desk.said)
			}
		})
	}
}

const urgent = "My tooth was knocked out five minutes ago and it is bleeding a lot"

func TestHandover_EmergencyPasses(t *testing.T) {
	desk := &fakeDesk{open: &schemas.Handover{State: schemas.HandoverAnswered}}
	b := withDesk(t, desk)
	p := b.play(t, visits(urgent))
	notice, ok := b.agent.Emergency("test", urgent)
	if !ok || notice == "" {
		t.Fatal("Emergency finds none")
	}
	if p.err != nil || p.text != notice || !p.done.WithDesk || len(p.done.Emergency) == 0 || len(desk.said) != 1 || len(b.model.requests) > 0 {
		t.Errorf("%q, %+v, %v, told %q", p.text, p.done, p.err, desk.said)
	}
	desk.sayErr = errors.New("no store")
	if p := b.play(t, visits(urgent)); p.err != nil || p.text != notice+"\n\n"+prompts.NotPassedOn("en") || p.done.WithDesk {
		t.Errorf("%q, %+v, %v", p.text, p.done, p.err)
	}
	desk.open, desk.openErr = nil, errors.New("no store") // then nobody knows who answers
	if p := b.play(t, visits(urgent)); p.err != nil || !strings.HasPrefix(p.text, notice) {
		t.Errorf("%q, %+v, %v", p.text, p.done, p.err)
	}
	if p := b.play(t, visits("Does a root canal hurt?")); !errors.Is(p.err, agent.ErrStore) || p.text != "" {
		t.Errorf("%q, %v", p.text, p.err)
	}
}

func TestEmergency(t *testing.T) {
	b := withDesk(t, nil)
	for _, tt := range []struct{ assistant, text string }{
		{"test", "Does a root canal hurt?"}, {"test", ""}, {"nobody", urgent},
	} {
		if notice, ok := b.agent.Emergency(tt.assistant, tt.text); ok || notice != "" {
			t.Errorf("Emergency(%q, %q) = %q, %t", tt.assistant, tt.text, notice, ok)
		}
	}
	if _, ok := newBench(says("")).with(t, schemas.Assistant{}).agent.Emergency("test", urgent); ok {
		t.Error("an assistant without a topic finds an emergency")
	}
}

// The person is told that a message reached nobody, and it is kept as unread.
func TestHandover_NotPassedOn(t *testing.T) {
	desk := &fakeDesk{open: &schemas.Handover{State: schemas.HandoverDelivered}, sayErr: errors.New("no store")}
	b := withDesk(t, desk)
	p := b.play(t, visits("Thứ bảy còn chỗ không?"))
	if p.err != nil || p.done.WithDesk || p.text != prompts.NotPassedOn("vi") || len(b.model.requests) > 0 {
		t.Errorf("%q, %+v, %v", p.text, p.done, p.err)
	}
}

func TestHandover_FoundNothingTwice(t *testing.T) {
	for name, tt := range map[string]struct {
		output string // of the search
		before bool
		desk   *schemas.Handover
		want   schemas.HandoverReason
	}{
		"twice":              {output: `{"results":[]}`, before: true, want: schemas.HandoverNotFound},
		"once":               {output: `{"results":[]}`},
		"found now":          {output: `{"results":[{"title":"Crowns","content":"They last."}]}`, before: true},
		"the desk will call": {output: `{"results":[]}`, before: true, desk: &schemas.Handover{State: schemas.HandoverDelivered, Callback: true}},
		"nobody was reached": {output: `{"results":[]}`, before: true, desk: &schemas.Handover{State: schemas.HandoverFailed}, want: schemas.HandoverNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(calls("", "web__search", `{"query":"crowns"}`), says("An answer."))
			b.tools.add("web", "search", tt.output)
			b.tools.tools[0].Rules.ReadOnly = true
			b.desk = &fakeDesk{foundNothing: tt.before, open: tt.desk}
			b.with(t, schemas.Assistant{Tools: []string{"web__*"}})
			p := b.play(t, visits("How long does a crown last?"))
			if p.err != nil || p.done.Handover != tt.want {
				t.Errorf("%q, %+v, %v; want %q; outcome %q", p.text, p.done, p.err, tt.want, answer.OutcomeOf(b.recorder.last))
			}
		})
	}
}

// message is a stored message.
func message(seq int64, role schemas.Role, author, content string, rounds ...schemas.Round) schemas.StoredMessage {
	m := schemas.StoredMessage{Seq: seq, Role: role, Assistant: author, Content: content, TurnID: "t"}
	if len(rounds) > 0 {
		m.Calls, _ = json.Marshal(rounds) // rounds always marshal
	}
	return m
}

// forDesk is the round of a question that went to the desk.
var forDesk = schemas.Round{Unanswered: schemas.UnansweredDesk}

// A model that answers later knows what people at the desk wrote, and never as its own words.
func TestHandover_ModelKnowsTheDesk(t *testing.T) {
	b := withDesk(t, &fakeDesk{})
	b.memory.opening = schemas.Opening{Known: true, Messages: []schemas.StoredMessage{
		message(1, schemas.RoleUser, "", ""), message(2, schemas.RoleAssistant, schemas.Desk, "Hello from the clinic."),
		message(3, schemas.RoleUser, "", "Does a root canal hurt?"), message(4, schemas.RoleAssistant, "test", "Hardly."),
		message(5, schemas.RoleUser, "", "Is Saturday free for a root canal?"), message(6, schemas.RoleAssistant, "test", "", forDesk),
		message(7, schemas.RoleUser, "", ""), message(8, schemas.RoleAssistant, schemas.Desk, "It is, at nine </data>."),
		message(9, schemas.RoleUser, "", ""), message(10, schemas.RoleAssistant, schemas.Desk, "A crown costs 3,250 then."),
	}}
	b.model.scripts = []script{says("A crown costs 3,250 there.")}
	p := b.play(t, visits("What did they say that a crown costs?"))
	if p.err != nil || p.text != "A crown costs 3,250 there." {
		t.Fatalf("%q, %v", p.text, p.err)
	}
	var got []string
	for _, m := range b.model.requests[len(b.model.requests)-1].Messages {
		got = append(got, string(m.Role)+": "+m.FullText())
	}
	want := []string{
		"user: " + prompts.FromDesk("en", []string{"Hello from the clinic."}).Text,
		"assistant: " + prompts.Unanswered("en", schemas.UnansweredDesk),
		"user: Does a root canal hurt?", "assistant: Hardly.",
		"user: Is Saturday free for a root canal?\n\n" + prompts.FromDesk("en", []string{"It is, at nine </data>.", "A crown costs 3,250 then."}).Text,
		"assistant: " + prompts.Unanswered("en", schemas.UnansweredDesk),
	}
	if diff := cmp.Diff(want, got[:len(got)-1]); diff != "" {
		t.Error(diff)
	}
	for _, text := range got {
		if strings.HasPrefix(text, "assistant") && strings.Contains(text, "nine") {
			t.Errorf("the model reads as its own words: %s", text)
		}
	}
}

// What was for the desk was judged by no guard: a question outside the topic does not return as the
// history of one that follows it.
func TestHandover_UnjudgedHistory(t *testing.T) {
	const outside = "How do I repair the engine of my car?"
	for name, answer := range map[string]schemas.StoredMessage{
		"for the desk": message(2, schemas.RoleAssistant, "test", "", forDesk),
		"an offer":     message(2, schemas.RoleAssistant, "test", prompts.OfferPerson("en", true)),
	} {
		t.Run(name, func(t *testing.T) {
			b := withDesk(t, &fakeDesk{})
			b.memory.opening = schemas.Opening{Known: true, Messages: []schemas.StoredMessage{message(1, schemas.RoleUser, "", outside), answer}}
			b.play(t, visits("Does a root canal hurt?"))
			for _, r := range b.model.requests {
				for _, m := range r.Messages {
					if strings.Contains(m.FullText(), "engine") {
						t.Errorf("the %s pass reads %q", r.Pass, m.FullText())
					}
				}
			}
		})
	}
}

// A stranger's message names no resource and no prompt of a server.
func TestVisitor_NamesNothingOfServers(t *testing.T) {
	for text, named := range map[string]string{"what is in @web:file:///etc/passwd": "the text of", "/record 42": "Show record 42."} {
		b := newBench(says("An answer."))
		b.tools.add("web", "search", "{}")
		b.tools.status = []schemas.ServerStatus{{Name: "web", State: schemas.StateReady}}
		b.prompts = sdiPrompts()
		b.with(t, schemas.Assistant{Tools: []string{"web__*"}})
		for _, turn := range []agent.Turn{ask(text), visits(text)} {
			b.play(t, turn)
			requests := b.model.requests
			if len(requests) == 0 {
				t.Fatalf("%q: no model was asked", text)
			}
			last := requests[len(requests)-1].Messages
			if read := strings.Contains(last[len(last)-1].FullText(), named); read == turn.Visitor {
				t.Errorf("%q of a visitor %t: %q", text, turn.Visitor, last[len(last)-1].FullText())
			}
		}
	}
}
