package agent_test

import (
	"errors"
	"testing"

	"molar/agent"
	"molar/schemas"
)

// A turn uses only what the person's groups allow: assistants, tools, and prompts of servers.
func TestRights(t *testing.T) {
	staff := &schemas.Rights{Groups: []schemas.Group{{Name: "staff", Assistants: []string{"other"}, Tools: []string{"*__read_*"}}}}
	ofTest := &schemas.Rights{Groups: []schemas.Group{{Name: "testers", Assistants: []string{"te*"}, Tools: []string{"family__*"}}}}
	tests := []struct {
		name      string
		rights    *schemas.Rights
		assistant string
		by        string
		offered   int
		notFound  bool
	}{
		{"without limit", nil, "", "test", 1, false},
		{"an assistant of theirs", ofTest, "", "test", 1, false},
		{"the default is not theirs", staff, "", "other", 0, false},
		{"they name one that is not theirs", staff, "test", "", 0, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := familyBench(says("Hello."))
			b.others = []schemas.Assistant{{Name: "other", Tools: []string{"*"}}}
			b.with(t, family())
			turn := ask("Who is the eldest?")
			turn.Assistant, turn.Rights = tt.assistant, tt.rights
			p := b.play(t, turn)
			if errors.Is(p.err, agent.ErrNotFound) != tt.notFound {
				t.Fatalf("error %v", p.err)
			}
			if tt.notFound {
				return
			}
			if p.err != nil || p.events[0].Start.Assistant != tt.by {
				t.Fatalf("%v; %+v answered", p.err, p.events[0].Start)
			}
			if got := len(b.model.requests[0].Tools); got != tt.offered {
				t.Errorf("%d tools are offered, want %d", got, tt.offered)
			}
		})
	}
}

// A prompt of a server that none of their groups allows is an ordinary question.
func TestRights_Prompts(t *testing.T) {
	for _, tt := range []struct {
		globs []string
		asked bool
	}{{[]string{"sdi__*"}, false}, {[]string{"family__*"}, true}} {
		b := newBench(says("Yes."))
		b.prompts = sdiPrompts()
		b.with(t, schemas.Assistant{Tools: []string{"*"}})
		turn := ask("/record 42")
		turn.Rights = &schemas.Rights{Groups: []schemas.Group{{Name: "staff", Tools: tt.globs}}}
		p := b.play(t, turn)
		if p.err != nil || len(b.model.requests) == 0 {
			t.Fatal(p.err, len(b.model.requests))
		}
		messages := b.model.requests[0].Messages
		if plain := messages[len(messages)-1].Said() == "/record 42"; plain != tt.asked {
			t.Errorf("with %v the model is asked %q", tt.globs, messages[len(messages)-1].Said())
		}
	}
}
