package agent_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"molar/agent"
	"molar/providers"
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

// Nothing that a visitor writes or reads is logged, at no level, also not what a service quotes of it in its
// error; of everybody else the texts are logged at debug level.
func TestVisitor_NotLogged(t *testing.T) {
	refuses := func(_ providers.Request, yield func(providers.Chunk, error) bool) {
		yield(providers.Chunk{}, &providers.Error{Kind: providers.KindInvalid, Provider: "fake", Model: "m", Err: errors.New("not allowed: my secret tooth")})
	}
	for _, tt := range []struct {
		turn agent.Turn
		want bool
	}{{asVisitor("my secret tooth"), false}, {ask("my secret tooth"), true}} {
		for what, step := range map[string]script{"answered": says("About my secret tooth."), "refused": refuses} {
			var log strings.Builder
			b := newBench(step)
			b.log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
			b.with(t, schemas.Assistant{})
			b.play(t, tt.turn)
			if log.Len() == 0 || strings.Contains(log.String(), "secret tooth") != tt.want {
				t.Errorf("%s, visitor %v:\n%s", what, tt.turn.Visitor, log.String())
			}
			if what == "refused" && !strings.Contains(log.String(), string(providers.KindInvalid)) && tt.turn.Visitor {
				t.Errorf("the log does not say what kind of failure it was:\n%s", log.String())
			}
		}
	}
}
