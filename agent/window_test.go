package agent_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/agent"
	"molar/providers"
	"molar/schemas"
)

// large enlarges a tool of the bench by a number of tokens.
func (b *bench) large(name string, tokens int) *schemas.Tool {
	for i, t := range b.tools.tools {
		if t.ToolName == name {
			b.tools.tools[i].InputSchema = json.RawMessage(`{"type":"object","properties":{"to":{"enum":["Lan","` + strings.Repeat("z", 4*tokens) + `"]}},"required":["to"]}`)
			return &b.tools.tools[i]
		}
	}
	return nil
}

// A tool that a search found, but that does not fit into the context window, can be called by its
// name: its arguments are checked and its policy applies. A warning names the window.
func TestRun_foundWithoutRoom(t *testing.T) {
	for name, tt := range map[string]struct {
		answer fixedDecision
		called int
	}{"allowed": {true, 1}, "not allowed": {false, 0}} {
		t.Run(name, func(t *testing.T) {
			b := catalogueBench(calls("", "find_tools", `{"words":"write"}`), calls("", "post__write_mail", `{"to":7}`), calls("", "post__write_mail", `{"to":"Lan"}`), says("Done."))
			b.model.window = 4096
			b.large("write_mail", 4000).Rules.Policy = schemas.PolicyConfirm
			turn := ask("a book")
			turn.Approver = tt.answer
			p := b.with(t, schemas.Assistant{Tools: []string{"*"}}).play(t, turn)
			if p.err != nil || p.text != "Done." {
				t.Fatalf("%q, %v", p.text, p.err)
			}
			for i, r := range b.model.requests {
				if strings.Contains(offeredIn(r), "write_mail") {
					t.Errorf("request %d is offered %s", i, offeredIn(r))
				}
			}
			last := b.model.requests[3].Messages
			if fault := last[len(last)-3].Parts[0].Text; !strings.Contains(fault, "do not fit its schema") {
				t.Errorf("the wrong arguments gave %q", fault)
			}
			if len(b.tools.called) != tt.called {
				t.Errorf("called %v", b.tools.called)
			}
			const warning = "there is no room to offer the tool post__write_mail, as with it the tools take about 4"
			if got := strings.Join(p.done.Warnings, "\n"); !strings.Contains(got, warning) || !strings.Contains(got, "of 4096 tokens") || !strings.Contains(got, "max_num_ctx") {
				t.Errorf("the warnings are %q", got)
			}
		})
	}
}

// The advice about a prompt that is too long depends on its largest part.
func TestRun_tooLong(t *testing.T) {
	refuses := func(_ providers.Request, yield func(providers.Chunk, error) bool) {
		yield(providers.Chunk{}, &providers.Error{Kind: providers.KindContextLength, Provider: "fake", Err: errors.New("it is too long")})
	}
	for name, tt := range map[string]struct {
		tokens   int // of the tools
		talk     bool
		question string
		window   int
		want     string
	}{
		"tools":                      {1900, false, "a book", 8192, "the tools take about 19"},
		"tools in a known window":    {1900, false, "a book", 8192, "of 8192 tokens: raise llm.ollama.max_num_ctx"},
		"tools in an unknown window": {1900, false, "a book", 0, "of a window that is not known: raise llm.ollama.max_num_ctx"},
		"tools, after a talk":        {1900, true, "a book", 8192, "excludeTools"},
		"a conversation":             {0, true, "a book", 8192, "the conversation is too long for this model; start a new one or shorten it"},
		"a question":                 {0, false, strings.Repeat("a book ", 900), 8192, "the question, with what belongs to it"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(refuses)
			b.model.window = tt.window
			b.tools.add("shelf", "find_book", `"a book"`)
			if tt.tokens > 0 {
				b.large("find_book", tt.tokens)
			}
			if tt.talk {
				b.memory.opening.Messages = []schemas.StoredMessage{
					{Seq: 1, Role: schemas.RoleUser, Content: "a book"}, {Seq: 2, Role: schemas.RoleAssistant, Content: strings.Repeat("It is long. ", 300)},
				}
			}
			p := b.with(t, schemas.Assistant{Tools: []string{"*"}}).play(t, ask(tt.question))
			if providers.KindOf(p.err) != providers.KindContextLength || !strings.Contains(p.err.Error(), "it is too long: ") || !strings.Contains(p.err.Error(), tt.want) {
				t.Errorf("got %v, want %q", p.err, tt.want)
			}
			if !tt.talk && strings.Contains(p.err.Error(), "start a new one") {
				t.Errorf("one line is told to be shortened: %v", p.err)
			}
		})
	}
}

// If a client sends its history, the tools that were called in it are offered, however large, and the
// calls are shown with their results.
func TestRun_calledInASentHistory(t *testing.T) {
	for _, name := range []string{"post__write_mail", "shelf__book_01"} {
		b := catalogueBench(says("Done."))
		b.model.window = 32_768
		b.large("write_mail", 10_000)
		turn := agent.Turn{Place: agent.Place{Stateless: true}, Messages: []schemas.Message{
			schemas.Text(schemas.RoleUser, "a book"),
			{Role: schemas.RoleAssistant, Parts: []schemas.Part{{Kind: schemas.PartCall, Call: &schemas.ToolCall{ID: "1", Function: schemas.FunctionCall{Name: name, Arguments: `{"to":"Lan"}`}}}}},
			{Role: schemas.RoleTool, Parts: []schemas.Part{{Kind: schemas.PartResult, Text: "sent", Result: &schemas.ToolResult{ID: "1", ToolName: name, Output: json.RawMessage(`"sent"`)}}}},
			schemas.Text(schemas.RoleAssistant, "It is sent."),
			schemas.Text(schemas.RoleUser, "and the same for the other one please"),
		}}
		if p := b.with(t, schemas.Assistant{Tools: []string{"*"}}).play(t, turn); p.err != nil {
			t.Fatal(p.err)
		}
		r := b.model.requests[0]
		if got := offeredIn(r); strings.Contains(got, "write_mail") != (name == "post__write_mail") {
			t.Errorf("after a call of %s the model is offered %s", name, got)
		}
		var got []string
		for _, m := range r.Messages {
			for _, p := range m.Parts {
				got = append(got, strings.TrimSpace(string(m.Role)+" "+p.Text))
			}
		}
		if diff := cmp.Diff([]string{"user a book", "assistant", "tool sent", "assistant It is sent.", "user and the same for the other one please"}, got); diff != "" {
			t.Error(diff)
		}
	}
}
