package agent_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"molar/agent"
	"molar/schemas"
)

// readOnlyTurn returns a turn that only reads its conversation.
func readOnlyTurn(text string) agent.Turn {
	turn := ask(text)
	turn.ReadOnly = true
	return turn
}

// wantNothingStored fails if the turn stored anything.
func wantNothingStored(t *testing.T, m *fakeMemory) {
	t.Helper()
	if len(m.saved) != 0 || m.released != 1 {
		t.Errorf("saved %v; %d leases given back", m.saved, m.released)
	}
}

// A turn that only reads its conversation sees the earlier messages, and stores nothing.
func TestReadOnly(t *testing.T) {
	b := familyBench(calls("", "family__get", "{}"), says("Nguyen, as I said.")).with(t, family())
	b.memory.opening = schemas.Opening{Known: true, Messages: []schemas.StoredMessage{
		{Seq: 1, Role: schemas.RoleUser, Content: "Who is the eldest?"},
		{Seq: 2, Role: schemas.RoleAssistant, Content: "It is Nguyen."},
	}}
	p := b.play(t, readOnlyTurn("And the eldest was?"))
	if p.err != nil || p.text != "Nguyen, as I said." || p.done.Saved || p.done.Unsaved || len(p.done.Warnings) != 0 {
		t.Fatalf("%q %v %+v", p.text, p.err, p.done)
	}
	if first := b.model.requests[0].Messages[0].Said(); first != "Who is the eldest?" {
		t.Errorf("the prompt begins with %q", first)
	}
	wantNothingStored(t, b.memory)
}

func TestReadOnly_brokenOff(t *testing.T) {
	b := newBench(breaks("half an")).with(t, schemas.Assistant{})
	if p := b.play(t, readOnlyTurn("hello")); p.err == nil {
		t.Fatal("no error")
	}
	wantNothingStored(t, b.memory)
}

// If the store fails, such a turn loses nothing and is therefore not refused.
func TestReadOnly_memoryDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(says("answer"))
		b.required, b.memory.beginErr = true, errors.New("disk is full")
		p := b.with(t, schemas.Assistant{}).play(t, readOnlyTurn("hello"))
		if p.err != nil || p.text != "answer" || p.done.Unsaved || len(p.done.Warnings) != 1 || !strings.Contains(p.done.Warnings[0], "could not be read") {
			t.Errorf("%q %v %+v", p.text, p.err, p.done)
		}
	})
}

// The next part of such a turn stores nothing either.
func TestReadOnly_clientTools(t *testing.T) {
	b := newBench(signedCalls("clock", `{}`), says("It is noon."))
	b.pauses = fakePauses{}
	b.with(t, schemas.Assistant{})
	turn := readOnlyTurn("What time is it?")
	turn.ClientTools = []schemas.ToolInfo{clientTool("clock")}
	if p := b.play(t, turn); p.err != nil || p.done.Calls == nil {
		t.Fatalf("%v %+v", p.err, p.done)
	}
	wantNothingStored(t, b.memory)
	b.memory.released = 0
	next := ask("")
	next.ClientTools, next.Results = turn.ClientTools, []schemas.ToolResult{clientResult("clock", `"noon"`)}
	if p := b.play(t, next); p.err != nil || p.text != "It is noon." || p.done.Saved || p.done.Unsaved {
		t.Fatalf("%v %q %+v", p.err, p.text, p.done)
	}
	wantNothingStored(t, b.memory)
}
