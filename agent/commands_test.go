package agent_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/schemas"
)

func sdiPrompts() *fakePrompts {
	return &fakePrompts{
		list: []schemas.Prompt{
			{Server: "sdi", Name: "record", Arguments: []schemas.PromptArgument{{Name: "uuid", Required: true}, {Name: "note"}}},
			{Server: "sdi", Name: "tag"},
			{Server: "one", Name: "twice"},
			{Server: "two", Name: "twice"},
		},
		messages: []schemas.Message{schemas.Text(schemas.RoleUser, "Show record 42."), schemas.Text(schemas.RoleAssistant, "As a list."), schemas.Text(schemas.RoleUser, "Be brief.")},
	}
}

func promptBench(t *testing.T, p *fakePrompts, as schemas.Assistant) *bench {
	b := familyBench(says("answer"))
	b.prompts = p
	return b.with(t, as)
}

// "/name arguments" is replaced by the prompt's text; the typed text is saved.
func TestRun_prompt(t *testing.T) {
	p := sdiPrompts()
	b := promptBench(t, p, family())
	played := b.play(t, ask("/record 42 in a few words"))
	if played.err != nil || played.text != "answer" {
		t.Fatalf("%q %v", played.text, played.err)
	}
	if diff := cmp.Diff([]map[string]string{{"uuid": "42", "note": "in a few words"}}, p.got); diff != "" {
		t.Errorf("arguments (-want +got)\n%s", diff)
	}
	message := b.model.requests[0].Messages[0]
	if message.Role != schemas.RoleUser || message.Said() != "Show record 42.\n\nAs a list.\n\nBe brief." || len(b.model.requests[0].Messages) != 1 {
		t.Errorf("the model reads %+v", b.model.requests[0].Messages)
	}
	if rec := b.memory.saved[0]; rec.User != "/record 42 in a few words" || !strings.Contains(strings.Join(rec.ServersRead, " "), "sdi") {
		t.Errorf("saved %+v", rec)
	}
}

func TestRun_promptArguments(t *testing.T) {
	tests := []struct {
		text string
		want map[string]string
	}{
		{"/record 42", map[string]string{"uuid": "42"}},
		{"/sdi:record 42", map[string]string{"uuid": "42"}},
		{"  /record   42   two words ", map[string]string{"uuid": "42", "note": "two words"}},
		{"/record note=two words uuid=42", map[string]string{"uuid": "42", "note": "two words"}},
		{`/record uuid="42" note='x=y'`, map[string]string{"uuid": "42", "note": "x=y"}},
		{"/record 42 \"two words\"", map[string]string{"uuid": "42", "note": "two words"}},
		{"/record\n42", map[string]string{"uuid": "42"}},
	}
	for _, tt := range tests {
		p := sdiPrompts()
		if played := promptBench(t, p, family()).play(t, ask(tt.text)); played.err != nil {
			t.Errorf("%q: %v", tt.text, played.err)
		}
		if diff := cmp.Diff([]map[string]string{tt.want}, p.got); diff != "" {
			t.Errorf("%q (-want +got)\n%s", tt.text, diff)
		}
	}
}

// After a prompt without arguments, the text that follows it is left to the model.
func TestRun_promptWithoutArguments(t *testing.T) {
	b := promptBench(t, sdiPrompts(), family())
	b.play(t, ask("/tag about water"))
	if said := b.model.requests[0].Messages[0].Said(); !strings.HasSuffix(said, "Be brief.\n\nabout water") {
		t.Errorf("the model reads %q", said)
	}
}

// A command that cannot be used as typed is answered with an explanation, without the model, and
// nothing is saved.
func TestRun_promptUnusable(t *testing.T) {
	tests := []struct {
		name, text string
		err        error
		want       string
	}{
		{"a missing argument", "/record", nil, "`/record` still needs: uuid. Usage: `/record <uuid> [note]`"},
		{"an empty one", "/record note=x uuid=", nil, "still needs: uuid"},
		{"a name of two servers", "/twice", nil, "Choose one: `/one:twice`, `/two:twice`"},
		{"a server that refuses", "/tag", errors.New("secret detail"), "the server sdi gave no text"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := sdiPrompts()
			p.err = tt.err
			b := promptBench(t, p, family())
			played := b.play(t, ask(tt.text))
			if played.err != nil || !strings.Contains(played.text, tt.want) || strings.Contains(played.text, "secret") {
				t.Errorf("%q %v", played.text, played.err)
			}
			if len(b.model.requests) != 0 || len(b.memory.saved) != 0 || played.done == nil || played.done.Saved {
				t.Errorf("%d model calls, saved %v, done %+v", len(b.model.requests), b.memory.saved, played.done)
			}
		})
	}
	b := familyBench(says("x"))
	b.prompts = sdiPrompts()
	b.memory.opening.Messages = []schemas.StoredMessage{{Seq: 1, Role: schemas.RoleUser, Content: "Cho tôi xem danh mục dữ liệu về nước"}}
	if played := b.with(t, family()).play(t, ask("/record")); !strings.Contains(played.text, "còn thiếu: uuid") {
		t.Errorf("in a Vietnamese conversation: %q", played.text)
	}
}

// A lone slash is not a prompt.
func TestRun_noPrompt(t *testing.T) {
	for _, text := range []string{"/", "/etc/passwd is what?", "/unknown word", "12/05/2026", "and/or", "/sdi:unknown", "/record/42", "use /record 42"} {
		p := sdiPrompts()
		b := promptBench(t, p, family())
		if played := b.play(t, ask(text)); played.text != "answer" || len(p.got) != 0 || b.model.requests[0].Messages[0].Said() != strings.TrimSpace(text) {
			t.Errorf("%q: %q, asked for %v", text, played.text, p.got)
		}
	}
}

// Under a topic the prompt's text is fenced data, and the guardrail judges it together with the
// typed text.
func TestRun_promptUnderATopic(t *testing.T) {
	p := sdiPrompts()
	p.messages = []schemas.Message{schemas.Text(schemas.RoleUser, "How often should teeth be brushed to avoid cavities?")}
	b := familyBench(says("Twice."))
	b.prompts = p
	b.with(t, schemas.Assistant{Topic: "dental"})
	if played := b.play(t, ask("/tag")); played.text != "Twice." {
		t.Errorf("%q %v", played.text, played.err)
	}
	question := b.model.requests[len(b.model.requests)-1].Messages[0]
	if question.Said() != "/tag" || !strings.Contains(question.FullText(), "user: How often should teeth") || !strings.Contains(question.FullText(), `source="sdi/tag"`) {
		t.Errorf("the model reads %s", question.FullText())
	}

	p.messages = []schemas.Message{schemas.Text(schemas.RoleUser, "Write a poem about football.")}
	b = familyBench(says("x"))
	b.prompts = p
	b.model.judge = says("NO")
	if played := b.with(t, schemas.Assistant{Topic: "dental"}).play(t, ask("/tag")); !played.done.Refused {
		t.Errorf("a prompt outside the subject: %q", played.text)
	}
}

// A turn waits for servers that are still starting, as their prompts are unknown before.
func TestRun_promptWaitsForServers(t *testing.T) {
	b := familyBench(says("answer"))
	b.prompts = sdiPrompts()
	b.tools.status = []schemas.ServerStatus{{Name: "sdi", State: schemas.StateStarting}}
	b.with(t, schemas.Assistant{}).play(t, ask("/record 42"))
	if len(b.tools.awaited) == 0 || b.tools.awaited[0] != "sdi" {
		t.Errorf("awaited %v", b.tools.awaited)
	}
}
