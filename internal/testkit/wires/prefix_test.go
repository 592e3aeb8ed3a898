package _test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"molar/agent"
)

const heading, person = "Summary of the previous conversation:\n", "Person:"

// summarised returns the beginning of a message with a summary.
func summarised(text string) string {
	return heading + "<data source=\"summary\">\n" + text + "\n</data>"
}

// A compaction replaces the older exchanges by a summary at the beginning of the first one that
// is still shown: by their summaries, or by excerpts that code makes. The next turn repeats it,
// in the same process and after a restart.
func TestWire_compaction(t *testing.T) {
	long := strings.Repeat(" It goes on.", 30)
	asked := func(i int) string { return fmt.Sprintf("What is thing %d?", i) }
	answer := func(i int) string { return fmt.Sprintf("Thing %d is here.%s", i, long) }
	onEachWire(t, func(t *testing.T, w wire) {
		// Four exchanges of about 430 bytes fit into 500 tokens, five do not; two fit into half.
		c := newTalk(t, w, newDesk(1, found), agent.Limits{ContextTokens: 500})
		var last []string
		for i := range 5 {
			last = c.ask(t, asked(i), says(answer(i)))
			if i == 0 {
				c.summarise(t, "They spoke of thing 0.")
			}
		}
		var whole []string
		for i := range 4 {
			whole = append(whole, w.user(asked(i)), w.said(answer(i)))
		}
		same(t, "before the compaction", c.model.messages(t, last[0]), append(whole, w.user(asked(4)))...)

		compacted := c.ask(t, asked(5), says(answer(5)))
		summary := summarised("They spoke of thing 0.\n\nWhat is thing 1? — Thing 1 is here.\n\nWhat is thing 2? — Thing 2 is here.")
		shown := []string{w.user(summary, person, asked(3)), w.said(answer(3)), w.user(asked(4)), w.said(answer(4))}
		same(t, "the compaction", c.model.messages(t, compacted[0]), append(shown, w.user(asked(5)))...)

		c.summarise(t, "A summary that comes late.")
		shown = append(shown, w.user(asked(5)), w.said(answer(5)))
		next := c.ask(t, asked(6), says(answer(6)))
		same(t, "the turn after it", c.model.messages(t, next[0]), append(shown, w.user(asked(6)))...)
		c.restart(t)
		shown = append(shown, w.user(asked(6)), w.said(answer(6)))
		again := c.ask(t, asked(7), says(answer(7)))
		same(t, "after a restart", c.model.messages(t, again[0]), append(shown, w.user(asked(7)))...)
	})
}

// If the limit of rounds forbids calls, the tools stay in the request, with a tool choice of
// none; Ollama, which has no such choice, is sent no tools.
func TestWire_forbiddenCalls(t *testing.T) {
	onEachWire(t, func(t *testing.T, w wire) {
		c := newTalk(t, w, newDesk(3, found), agent.Limits{Rounds: 1})
		sent := c.ask(t, "Where is Lan?", calls("desk__find_0", findArgs), says("In the hall."))
		first, second := read(t, sent[0]), read(t, sent[1])
		mode := string(second.ToolChoice) + second.ToolConfig.FunctionCallingConfig.Mode
		if was := string(first.ToolChoice) + first.ToolConfig.FunctionCallingConfig.Mode; was != "" && was != "AUTO" {
			t.Errorf("the first round has the choice %q", was)
		}
		want, tools := map[string]string{"openai": `"none"`, "responses": `"none"`, "gemini": "NONE", "anthropic": `{"type":"none"}`}[w.name], string(first.Tools)
		if w.name == "ollama" {
			tools = ""
		}
		if mode != want || string(second.Tools) != tools || len(first.Tools) == 0 {
			t.Errorf("choice %q, want %q; tools %s, want %s", mode, want, second.Tools, tools)
		}
		limit := "No further tool can be called: the limit of 1 rounds is reached. Answer with what is known, and say so."
		got := c.model.messages(t, sent[1])
		if !strings.Contains(got[len(got)-1], limit) {
			t.Errorf("the last message is %s", got[len(got)-1])
		}
		same(t, "the messages before it", got[:3], w.user("Where is Lan?"),
			w.called("1", "desk__find_0", findArgs, found), w.returned("1", "desk__find_0", findArgs, found))
	})
}

// Over 20 turns with 30 tools, every third with a call, each body repeats at least 95 % of the
// previous one, in the order in which a service renders them: instructions, tools, messages.
func TestWire_bodiesRepeat(t *testing.T) {
	onEachWire(t, func(t *testing.T, w wire) {
		c := newTalk(t, w, newDesk(30, found), agent.Limits{})
		before, least := "", 1.0
		for i := range 20 {
			replies := []reply{says(fmt.Sprintf("Answer %d, in a sentence ", i), "or two.")}
			if i%3 == 1 {
				replies = slices.Insert(replies, 0, calls("desk__find_7", findArgs))
			}
			for _, b := range c.ask(t, fmt.Sprintf("What does the register hold about number %d?", i), replies...) {
				now := c.model.rendered(t, b)
				if before != "" {
					least = min(least, float64(prefix(before, now))/float64(len(before)))
				}
				before = now
			}
		}
		if least < 0.95 {
			t.Errorf("a body repeats only %.1f %% of the one before", 100*least)
		}
		t.Logf("each body repeats at least %.1f %% of the one before; the last has %d bytes", 100*least, len(before))
	})
}

// rendered returns a body in the order of a prompt.
func (m *model) rendered(t *testing.T, b string) string {
	t.Helper()
	system, tools, messages := m.wire.split(read(t, b))
	var text strings.Builder
	text.WriteString(system + "\n" + tools)
	for _, message := range messages {
		text.WriteString("\n" + string(message))
	}
	return text.String()
}

// prefix returns the length of the common beginning of two texts, in bytes.
func prefix(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}
