package agent_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/agent/memory"
	"molar/providers"
	"molar/schemas"
)

// rendered is a request as a chat template arranges it: system, tools, messages.
func rendered(t *testing.T, req providers.Request) string {
	t.Helper()
	tools, err := json.Marshal(req.Tools)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s\n", req.System, tools)
	for _, m := range req.Messages {
		fmt.Fprintf(&b, "<%s>", m.Role)
		for _, p := range m.Parts {
			b.WriteString(p.Text)
			if p.Call != nil {
				b.WriteString(p.Call.Function.Name + p.Call.Function.Arguments)
			}
			b.WriteString("\n\n")
		}
	}
	return b.String()
}

func commonPrefix(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// conversation runs turns against a memory that works like the store: a turn reads the turns that
// were saved before it.
type conversation struct {
	b    *bench
	last memory.Record
	seq  int64
}

func (c *conversation) play(t *testing.T, question string) providers.Request {
	t.Helper()
	saved := len(c.b.memory.saved)
	if p := c.b.play(t, ask(question)); p.err != nil || !p.done.Saved {
		t.Fatalf("%q: %v %+v", question, p.err, p.done)
	}
	record := c.b.memory.saved[saved]
	rounds, err := json.Marshal(record.Rounds)
	if err != nil {
		t.Fatal(err)
	}
	if len(record.Rounds) == 0 {
		rounds = nil
	}
	o := &c.b.memory.opening
	o.Known, o.Subject, o.Assistant = true, record.Subject, record.Assistant
	o.Messages = append(o.Messages, schemas.StoredMessage{Seq: c.seq + 1, Role: schemas.RoleUser, Content: record.User},
		schemas.StoredMessage{Seq: c.seq + 2, Role: schemas.RoleAssistant, Content: record.Answer, Calls: rounds, Sources: record.Sources})
	c.seq += 2
	if record.Compaction != nil {
		o.Compaction = *record.Compaction
		for len(o.Messages) > 0 && o.Messages[0].Seq <= o.Compaction.Covers {
			o.Messages = o.Messages[1:]
		}
	}
	c.last = record
	return c.b.model.requests[len(c.b.model.requests)-1]
}

func thirtyTools(b *bench) {
	for i := range 30 {
		b.tools.add("family", fmt.Sprintf("tool_%d", i), `{"name":"Nguyen"}`)
		b.tools.tools[len(b.tools.tools)-1].Description = strings.Repeat("Reads what the register holds. ", 6)
	}
}

// Over 20 turns with 30 tools, some of them with calls, each prompt repeats the previous one up
// to its question, and at least 95 % of it.
func TestContext_promptsRepeat(t *testing.T) {
	b := newBench(says("x"))
	thirtyTools(b)
	c := &conversation{b: b.with(t, family())}
	before := ""
	for i := range 20 {
		b.model.scripts = []script{says(fmt.Sprintf("Answer %d, in a sentence or two.", i))}
		if i%3 == 1 {
			b.model.scripts = []script{calls("Let me look.", "family__tool_3", `{"id":1}`), says("Found it.")}
		}
		asked := fmt.Sprintf("What does the register hold about number %d?", i)
		now := rendered(t, c.play(t, asked))
		if i%3 == 1 { // compare first rounds
			now = rendered(t, b.model.requests[len(b.model.requests)-2])
		}
		same := commonPrefix(before, now)
		if head := strings.LastIndex(before, "<user>"); same < head || float64(same) < 0.95*float64(len(before)) {
			t.Errorf("turn %d: %d of %d bytes repeat, the last question begins at %d", i, same, len(before), head)
		}
		before = now
	}
}

// The second turn's request contains the first exchange verbatim, calls and results included,
// whether or not its summary is written.
func TestContext_secondTurn(t *testing.T) {
	for _, piece := range []string{"", "The person asked who it is."} {
		b := familyBench(calls("", "family__get", `{"id":7}`), says("It is Nguyen."))
		c := &conversation{b: b.with(t, family())}
		c.play(t, "Who is number 7?")
		if piece != "" {
			b.memory.opening.Pieces = []schemas.Piece{{Seq: 2, Text: piece}}
			b.memory.opening.Summary, b.memory.opening.Covers = piece, 2
		}
		b.model.scripts = []script{says("Again Nguyen.")}
		req := c.play(t, "And again?")
		var got []string
		for _, m := range req.Messages {
			line := string(m.Role) + ": " + m.Said()
			for _, call := range m.Calls() {
				line += call.Function.Name + call.Function.Arguments
			}
			if m.Role == schemas.RoleTool {
				line += m.Parts[0].Text
			}
			got = append(got, line)
		}
		want := []string{
			"user: Who is number 7?", `assistant: family__get{"id":7}`, `tool: {"name":"Nguyen"}`, "assistant: It is Nguyen.", "user: And again?",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("with the piece %q:\n%s", piece, diff)
		}
	}
}

// Forty turns in a small window: every prompt fits, a compaction replaces the older half by a
// summary that stays unchanged, and between compactions prompts only grow.
func TestContext_smallWindow(t *testing.T) {
	const window = 4000 // tokens
	b := newBench(says("x"))
	b.model.window = window
	c := &conversation{b: b.with(t, schemas.Assistant{})}
	before, compactions := "", 0
	for i := range 40 {
		b.model.scripts = []script{says(fmt.Sprintf("Answer number %d. ", i) + strings.Repeat("It goes on for a while. ", 8))}
		now := rendered(t, c.play(t, fmt.Sprintf("Please tell me about thing %d in detail.", i)))
		if len(now) > (window-1024)*4 {
			t.Fatalf("turn %d: a prompt of %d bytes", i, len(now))
		}
		if c.last.Compaction != nil {
			compactions++
		} else if same, head := commonPrefix(before, now), strings.LastIndex(before, "<user>"); before != "" && same < head {
			t.Errorf("turn %d: only %d bytes repeat, the last question began at %d", i, same, head)
		}
		before = now
		for j := range i { // each exchange is there, verbatim or in the summary
			if !strings.Contains(now, fmt.Sprintf("thing %d ", j)) {
				t.Errorf("turn %d: nothing is left of exchange %d", i, j)
			}
		}
	}
	if compactions < 2 {
		t.Errorf("%d compactions", compactions)
	}
}

// A conversation keeps its assistant. If a turn names another one, that one takes over and reads
// the earlier exchanges as a client's history.
func TestContext_assistantOfTheConversation(t *testing.T) {
	b := newBench(says("answer")).with(t, schemas.Assistant{Topic: "dental"})
	b.memory.opening = schemas.Opening{Known: true, Assistant: "other", Messages: []schemas.StoredMessage{
		{Seq: 1, Role: schemas.RoleUser, Content: "Who won the football world cup?"},
		{Seq: 2, Role: schemas.RoleAssistant, Content: "Some team."},
		{Seq: 3, Role: schemas.RoleUser, Content: "How often should I brush my teeth to avoid cavities?"},
		{Seq: 4, Role: schemas.RoleAssistant, Content: "Twice a day."},
	}}
	p := b.play(t, ask("How is a dental implant made by the dentist?"))
	if p.err != nil || p.done.Refused {
		t.Fatalf("%q %v", p.text, p.err)
	}
	text := rendered(t, b.model.requests[len(b.model.requests)-1])
	if strings.Contains(text, "football") || !strings.Contains(text, "Twice a day.") {
		t.Errorf("the model reads %s", text)
	}
}
