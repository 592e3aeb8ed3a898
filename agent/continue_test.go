package agent_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/agent"
	"molar/agent/answer"
	"molar/agent/journal"
	"molar/schemas"
)

// a left is what a process that is gone has left of a turn.
type left struct {
	// events are those after the start; said are the model's rounds, sent the calls that were sent.
	events []answer.Event
	said   []schemas.Message
	sent   []string
}

// leave returns the journal of a turn that may go on. Its question is who?
func leave(t *testing.T, l left) schemas.JournalRecord {
	t.Helper()
	b := familyBench(says("x"))
	stop := b.withJournal(t, family())
	turn := ask("who?")
	turn.ID, turn.GoesOn = "t1", true
	if p := b.play(t, turn); p.err != nil {
		t.Fatal(p.err)
	}
	stop()
	r := b.journal.begun[0]
	var items []journal.Item
	for _, ev := range l.events {
		items = append(items, journal.Item{Event: &ev})
	}
	var err error
	if r.Rows, err = journal.Encode(items, 1); err != nil {
		t.Fatal(err)
	}
	r.Rounds = nil
	add := func(round journal.Round) {
		body, err := json.Marshal(round)
		if err != nil {
			t.Fatal(err)
		}
		r.Rounds = append(r.Rounds, schemas.JournalRound{N: len(r.Rounds) + 1, Body: string(body)})
	}
	for i := range l.said {
		add(journal.Round{Said: &l.said[i]})
	}
	for _, id := range l.sent {
		add(journal.Round{Sent: id})
	}
	return r
}

func text(s string) answer.Event { return answer.Event{Kind: answer.KindText, Text: s} }

// aCall is a call of a tool of the server family, as the model says it after a text.
func aCall(said, tool string) (schemas.Message, answer.Event, answer.Event) {
	call := schemas.ToolCall{ID: "1", Function: schemas.FunctionCall{Name: "family__" + tool, Arguments: `{"a":1}`}}
	m := schemas.Text(schemas.RoleAssistant, said)
	m.Parts = append(m.Parts, schemas.Part{Kind: schemas.PartCall, Call: &call})
	result := schemas.ToolResult{ID: "1", Server: "family", ToolName: tool, Output: json.RawMessage(`"before"`)}
	return m, answer.Event{Kind: answer.KindToolCall, Call: &call}, answer.Event{Kind: answer.KindToolResult, Call: &call, Result: &result}
}

// decides answers each question with yes or no, and keeps it.
type decides struct {
	allow bool
	asked *[]agent.Ask
}

func (d decides) Approve(_ context.Context, ask agent.Ask) (agent.Decision, error) {
	*d.asked = append(*d.asked, ask)
	return agent.Decision{Allowed: d.allow}, nil
}

// A turn whose process is gone continues: rounds with results are not done again, text of the round
// that is asked again becomes commentary, and a call that was sent without a result is made again only
// if it is a reader or a person says so.
func TestContinued(t *testing.T) {
	said, called, answered := aCall("Let me.", "get")
	put, putCalled, putAnswered := aCall("Let me.", "put")
	aside := answer.Event{Kind: answer.KindCommentary, Text: "Let me."}
	for name, c := range map[string]struct {
		left  left
		allow *bool // nil: nobody is there to ask
		// reset is the text of the event, calls are those that are made, output is the result that the
		// model sees, and asked is how often a person is asked.
		reset  string
		calls  []string
		output string
		asked  int
	}{
		"before its first text":       {},
		"in its first text":           {left: left{events: []answer.Event{text("On"), text("e ")}}, reset: "One "},
		"after a result":              {left: left{[]answer.Event{text("Let me."), aside, called, answered, text("Tw")}, []schemas.Message{said}, nil}, reset: "Tw", output: "before"},
		"a reader without a result":   {left: left{[]answer.Event{text("Let me."), aside, called}, []schemas.Message{said}, nil}, calls: []string{`get {"a":1}`}, output: "now"},
		"an effect with its result":   {left: left{[]answer.Event{text("Let me."), aside, putCalled, putAnswered}, []schemas.Message{put}, []string{"1"}}, output: "before"},
		"an effect that was not sent": {left: left{[]answer.Event{text("Let me."), aside, putCalled}, []schemas.Message{put}, nil}, calls: []string{`put {"a":1}`}, output: "now"},
		"an effect, wanted again": {
			left:  left{[]answer.Event{text("Let me."), aside, putCalled}, []schemas.Message{put}, []string{"1"}},
			allow: new(true), calls: []string{`put {"a":1}`}, output: "now", asked: 1,
		},
		"an effect, done": {
			left:  left{[]answer.Event{text("Let me."), aside, putCalled}, []schemas.Message{put}, []string{"1"}},
			allow: new(false), output: "did not have it sent again", asked: 1,
		},
		"an effect, nobody there": {
			left: left{[]answer.Event{text("Let me."), aside, putCalled}, []schemas.Message{put}, []string{"1"}}, output: "may or may not have been done",
		},
	} {
		t.Run(name, func(t *testing.T) {
			turn, err := agent.Continued(leave(t, c.left))
			if err != nil {
				t.Fatal(err)
			}
			var asked []agent.Ask
			if c.allow != nil {
				turn.Approver = decides{*c.allow, &asked}
			}
			b := familyBench(says("done"))
			yes := true
			b.tools.tools[0].Annotations.ReadOnlyHint = &yes
			b.tools.add("family", "get", `"now"`)
			b.tools.add("family", "put", `"now"`)
			b.with(t, family())
			p := b.play(t, turn)
			if p.err != nil || p.text != "done" || !p.done.Saved || strings.Contains(p.kinds(), "start") {
				t.Fatalf("%v: %q, %s", p.err, p.text, p.kinds())
			}
			if first := p.events[0]; first.Kind != answer.KindReset || first.Text != c.reset {
				t.Errorf("it begins with %+v", first)
			}
			if !slices.Equal(b.tools.called, c.calls) || len(asked) != c.asked || c.asked > 0 && asked[0].Reason.Rule != agent.RuleUnsure {
				t.Errorf("called %q, asked %+v", b.tools.called, asked)
			}
			messages := b.model.requests[0].Messages
			if last := messages[len(messages)-1]; c.output != "" && (last.Role != schemas.RoleTool || !strings.Contains(last.Parts[0].Text, c.output)) {
				t.Errorf("the model sees %+v", last)
			}
			record := b.memory.saved[0]
			if record.TurnID != "t1" || record.Key != "t1" || record.User != "who?" || record.Status != "" || len(b.model.requests) != 1 {
				t.Errorf("saved %+v after %d requests", record, len(b.model.requests))
			}
			want := 0
			if len(c.left.said) > 0 {
				want = 1
			}
			if rounds := slices.DeleteFunc(record.Rounds, func(r schemas.Round) bool { return len(r.Results) == 0 }); len(rounds) != want {
				t.Errorf("rounds %+v", rounds)
			}
			if b.memory.released != 1 { // the lease of the process that is gone
				t.Errorf("released %d", b.memory.released)
			}
		})
	}
}

// A turn that its process had saved before it was lost is told as it was saved.
func TestContinued_saved(t *testing.T) {
	turn, err := agent.Continued(leave(t, left{events: []answer.Event{text("One "), text("two")}}))
	if err != nil {
		t.Fatal(err)
	}
	b := familyBench(says("never"))
	b.memory.opening.Finished = &schemas.Finished{TurnID: "t1", Answer: "One two three"}
	b.with(t, family())
	p := b.play(t, turn)
	var all answer.Collector
	all.Add(text("One two"))
	for _, ev := range p.events {
		all.Add(ev)
	}
	if diff := cmp.Diff("One two three", all.Answer()); p.err != nil || diff != "" || !p.done.Saved || len(b.model.requests) != 0 {
		t.Errorf("%v: %s, %+v", p.err, diff, p.done)
	}
}
