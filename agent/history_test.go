package agent_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/agent/memory"
	"molar/providers"
	"molar/schemas"
)

func state(s string) *schemas.ProviderState {
	return &schemas.ProviderState{Provider: "fake", Data: json.RawMessage(`"` + s + `"`)}
}

// signed streams chunks with provider state: on a call, on text, and alone.
func signed(_ providers.Request, yield func(providers.Chunk, error) bool) {
	one := schemas.ToolCall{ID: "1", Function: schemas.FunctionCall{Name: "family__get", Arguments: `{"id":1}`}}
	two := schemas.ToolCall{ID: "2", Function: schemas.FunctionCall{Name: "family__get", Arguments: `{"id":2}`}}
	for _, c := range []providers.Chunk{
		{Text: "Let "}, {Text: "me see.", State: state("t")}, {Call: &one, State: state("c")}, {Call: &two}, {Finish: providers.FinishToolCalls},
	} {
		if !yield(c, nil) {
			return
		}
	}
}

func signedAnswer(_ providers.Request, yield func(providers.Chunk, error) bool) {
	for _, c := range []providers.Chunk{{Text: "It is "}, {Text: "Nguyen."}, {State: state("end")}, {Finish: providers.FinishStop}} {
		if !yield(c, nil) {
			return
		}
	}
}

// A provider's private state is sent back with exactly the part that it came with: in the next
// round, and in the next turn as the store returns it.
func TestRun_providerStateReturns(t *testing.T) {
	b := familyBench(signed, signedAnswer).with(t, family())
	if p := b.play(t, ask("who?")); p.err != nil || p.text != "It is Nguyen." {
		t.Fatalf("%q %v", p.text, p.err)
	}
	round := b.model.requests[1].Messages[1:]
	wantStates := []string{"", `"t"`, `"c"`, ""}
	if diff := cmp.Diff(wantStates, states(round[0])); diff != "" {
		t.Errorf("next round:\n%s", diff)
	}
	if n := len(round[1].Parts); n != 2 || round[1].Parts[0].Result.ID != "1" || round[1].Parts[1].Result.ID != "2" {
		t.Errorf("results are not paired in call order: %+v", round[1].Parts)
	}

	b.memory.opening = storedOpening(t, b.memory.saved[0])
	b.model.scripts = []script{says("again")}
	b.play(t, ask("and now?"))
	last := b.model.requests[len(b.model.requests)-1].Messages
	if len(last) != 5 {
		t.Fatalf("%d messages in the next turn, want question, calls, results, answer, question", len(last))
	}
	if diff := cmp.Diff(wantStates, states(last[1])); diff != "" {
		t.Errorf("next turn:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"", `"end"`}, states(last[3])); diff != "" || last[3].Said() != "It is Nguyen." {
		t.Errorf("the answer of the turn before: %q\n%s", last[3].Said(), diff)
	}
	if last[2].Role != schemas.RoleTool || len(last[2].Parts) != len(last[1].Calls()) {
		t.Errorf("calls and results are apart: %+v", last[2])
	}
}

// If stored rounds cannot be paired, only the answer's text is sent.
func TestRun_brokenRoundsLeaveTheText(t *testing.T) {
	b := familyBench(says("fine")).with(t, family())
	for _, calls := range []string{`{"not":"rounds"}`, `[{"said":{"role":"assistant","parts":[{"kind":"call","call":{"id":"1","function":{"name":"a","arguments":"{}"}}}]},"results":[{"toolName":"a","output":1},{"toolName":"b","output":2}]}]`} {
		b.memory.opening.Messages = []schemas.StoredMessage{
			{Seq: 1, Role: schemas.RoleUser, Content: "q"}, {Seq: 2, Role: schemas.RoleAssistant, Content: "a", Calls: json.RawMessage(calls)},
		}
		b.play(t, ask("next"))
		last := b.model.requests[len(b.model.requests)-1].Messages
		if len(last) != 3 || last[1].Said() != "a" {
			t.Errorf("%s: history %+v", calls, last)
		}
	}
}

func states(m schemas.Message) []string {
	var all []string
	for _, p := range m.Parts {
		s := ""
		if p.State != nil {
			s = string(p.State.Data)
		}
		all = append(all, s)
	}
	return all
}

// storedOpening is the conversation as the store returns it.
func storedOpening(t *testing.T, r memory.Record) schemas.Opening {
	t.Helper()
	rounds, err := json.Marshal(r.Rounds)
	if err != nil {
		t.Fatal(err)
	}
	return schemas.Opening{Known: true, Messages: []schemas.StoredMessage{
		{Seq: 1, Role: schemas.RoleUser, Content: r.User},
		{Seq: 2, Role: schemas.RoleAssistant, Content: r.Answer, Calls: rounds},
	}}
}

// A follow-up that is off the subject on its own is judged together with the previous exchange,
// even if code would refuse it as the first message of a conversation.
func TestRun_followUpThatLooksOutside(t *testing.T) {
	const question = "and what about an MRI"
	for _, tt := range []struct {
		known bool
		asked int
	}{{true, 1}, {false, 0}} {
		b := newBench(says("Brush twice a day."))
		if tt.known {
			b.memory.opening.Messages = []schemas.StoredMessage{
				{Role: schemas.RoleUser, Content: "What is a dental implant made of?"}, {Role: schemas.RoleAssistant, Content: "Of titanium."},
			}
		}
		p := b.with(t, schemas.Assistant{Topic: "dental"}).play(t, ask(question))
		asked := 0
		for _, pass := range b.model.passes() {
			if pass == providers.PassGuardrail {
				asked++
			}
		}
		if p.err != nil || p.done.Refused == tt.known || asked != tt.asked || !tt.known && len(b.model.passes()) > 0 {
			t.Errorf("behind an exchange %v: %q %+v, the judge was asked %d times, %v", tt.known, p.text, p.done, asked, p.err)
		}
	}
}

// If code is not sure of an exchange in a client's history, it is not sure of a follow-up either.
func TestRun_followUpOfAnUnjudgedExchange(t *testing.T) {
	for first, asked := range map[string]bool{unsure: true, "What is a dental implant made of?": false} {
		b := newBench(says("Brush twice a day."))
		b.model.judge = says("NO")
		turn := ask("tell me more about that")
		turn.Stateless = true
		turn.Messages = append([]schemas.Message{schemas.Text(schemas.RoleUser, first), schemas.Text(schemas.RoleAssistant, "An answer.")}, turn.Messages...)
		if p := b.with(t, schemas.Assistant{Topic: "dental"}).play(t, turn); p.err != nil || p.done.Refused != asked {
			t.Errorf("behind %q: %q %+v %v", first, p.text, p.done, p.err)
		}
	}
}
