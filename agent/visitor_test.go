package agent_test

import (
	"strings"
	"testing"

	"molar/agent"
	"molar/schemas"
)

// asVisitor asks as somebody on a public page.
func asVisitor(question string) agent.Turn {
	turn := ask(question)
	turn.Visitor, turn.AskNever = true, true
	return turn
}

// Visitors are offered what reads, and code looks nothing up for them with a tool that may write. Whoever
// else asks keeps both.
func TestVisitor_Tools(t *testing.T) {
	for _, tt := range []struct {
		turn     agent.Turn
		offered  string
		searched bool
	}{
		{asVisitor("When are you open?"), "clinic__get_hours", false},
		{ask("When are you open?"), "clinic__book clinic__get_hours", true},
	} {
		b := newBench(says("At eight."))
		b.tools.add("clinic", "book", `"booked"`)
		b.tools.add("clinic", "get_hours", `"eight"`)
		b.tools.add("log", "note_question", `"noted"`)
		b.with(t, schemas.Assistant{Tools: []string{"clinic__*"}, Search: []string{"note_question"}})
		p := b.play(t, tt.turn)
		if p.err != nil {
			t.Fatal(p.err)
		}
		var offered []string
		for _, tool := range b.model.requests[0].Tools {
			offered = append(offered, tool.Name)
		}
		if got := strings.Join(offered, " "); got != tt.offered || (len(b.tools.called) > 0) != tt.searched {
			t.Errorf("offered %q, want %q; called %v", got, tt.offered, b.tools.called)
		}
	}
}

// What a model calls all the same is not executed, and the model is told so.
func TestVisitor_NotExecuted(t *testing.T) {
	b := newBench(calls("", "clinic__book", `{}`), says("I cannot book."))
	b.tools.add("clinic", "book", `"booked"`)
	b.tools.add("clinic", "get_hours", `"eight"`)
	b.with(t, schemas.Assistant{Tools: []string{"clinic__*"}})
	if p := b.play(t, asVisitor("Book me a visit.")); p.err != nil || len(b.tools.called) > 0 {
		t.Errorf("called %v, %v", b.tools.called, p.err)
	}
}

// What a visitor types names no prompt and no resource of a server, whatever the assistant may call.
func TestVisitor_PromptsAndResources(t *testing.T) {
	for _, question := range []string{"/record 42", "What is in @notes:a:1?", "What is in @memory-server:a:1?"} {
		b := newBench(says("An answer."))
		b.prompts = sdiPrompts()
		b.tools.status = []schemas.ServerStatus{{Name: "notes", State: schemas.StateReady}, {Name: schemas.MemoryServer, State: schemas.StateReady}}
		b.with(t, schemas.Assistant{Tools: []string{"*"}})
		if p := b.play(t, asVisitor(question)); p.err != nil || len(b.model.requests) == 0 {
			t.Fatal(p.err, len(b.model.requests))
		}
		messages := b.model.requests[0].Messages
		if got := messages[len(messages)-1].FullText(); got != question {
			t.Errorf("the model reads %q, want %q alone", got, question)
		}
	}
}
