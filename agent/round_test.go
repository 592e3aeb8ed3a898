package agent_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/agent"
	"molar/providers"
	"molar/schemas"
)

func call(id string) *schemas.ToolCall {
	return &schemas.ToolCall{ID: id, Function: schemas.FunctionCall{Name: "f", Arguments: "{}"}}
}

func reply(chunks ...providers.Chunk) *agent.Reply {
	r := &agent.Reply{}
	for _, c := range chunks {
		r.Add(c)
	}
	return r
}

// Pieces of text become one part, except those with provider state, which stay separate.
func TestReply_Message(t *testing.T) {
	state := &schemas.ProviderState{Provider: "fake", Data: json.RawMessage(`1`)}
	r := reply(
		providers.Chunk{Text: "It "}, providers.Chunk{Text: "is "}, providers.Chunk{Text: "so", State: state},
		providers.Chunk{Call: call("1"), State: state}, providers.Chunk{Text: "."}, providers.Chunk{Finish: providers.FinishStop},
	)
	want := schemas.Message{Role: schemas.RoleAssistant, Parts: []schemas.Part{
		{Kind: schemas.PartText, Text: "It is "},
		{Kind: schemas.PartText, Text: "so", State: state},
		{Kind: schemas.PartCall, Call: call("1"), State: state},
		{Kind: schemas.PartText, Text: "."},
	}}
	if diff := cmp.Diff(want, r.Message()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if r.Message().Said() != "It is so." || r.Finish != providers.FinishStop || len(r.Calls()) != 1 || len(r.Spoken().Parts) != 3 {
		t.Errorf("text %q, finish %q, calls %v, spoken %+v", r.Message().Said(), r.Finish, r.Calls(), r.Spoken())
	}
}

// A cut answer executes no calls, as part of it is missing.
func TestReply_CutAnswersCallNothing(t *testing.T) {
	for finish, want := range map[providers.FinishReason]int{
		providers.FinishStop: 2, providers.FinishToolCalls: 2, providers.FinishLength: 0, providers.FinishContentFilter: 0,
	} {
		if got := reply(providers.Chunk{Call: call("1")}, providers.Chunk{Call: call("2")}, providers.Chunk{Finish: finish}).Calls(); len(got) != want {
			t.Errorf("%s: %d calls, want %d", finish, len(got), want)
		}
	}
}

func TestReply_KeepOneCall(t *testing.T) {
	r := reply(providers.Chunk{Call: call("1")}, providers.Chunk{Text: "and"}, providers.Chunk{Call: call("2")})
	r.KeepOneCall()
	if calls := r.Calls(); len(calls) != 1 || calls[0].ID != "1" || r.Message().Said() != "and" {
		t.Errorf("calls %v, text %q", calls, r.Message().Said())
	}
}

// Text that turns out to be reasoning is dropped; the calls stay.
func TestReply_Retract(t *testing.T) {
	r := reply(providers.Chunk{Text: "Hm. "}, providers.Chunk{Call: call("1")}, providers.Chunk{Text: "So"})
	r.Retract()
	r.Add(providers.Chunk{Text: "Yes."})
	if r.Message().Said() != "Yes." || len(r.Calls()) != 1 {
		t.Errorf("text %q, calls %v", r.Message().Said(), r.Calls())
	}
}
