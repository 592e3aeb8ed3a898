package agent_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"molar/agent"
	"molar/agent/offer"
	"molar/providers"
	"molar/schemas"
)

// catalogueBench has thirty tools of a server "shelf" and one that sends mail.
func catalogueBench(scripts ...script) *bench {
	b := newBench(scripts...)
	for i := range 30 {
		b.tools.add("shelf", fmt.Sprintf("book_%02d", i), `"a book"`)
	}
	b.tools.add("post", "write_mail", `"sent"`)
	b.limits = agent.Limits{Offered: 8}
	b.rank = func(tools []schemas.ToolInfo) func(string) []offer.Ranked {
		return func(words string) []offer.Ranked {
			var first, rest []offer.Ranked
			for _, t := range tools {
				if _, name, _ := strings.Cut(t.Name, "__"); strings.Contains(words, strings.Split(name, "_")[0]) {
					first = append(first, offer.Ranked{Name: t.Name, Score: 1})
				} else {
					rest = append(rest, offer.Ranked{Name: t.Name})
				}
			}
			return append(first, rest...)
		}
	}
	return b
}

func offeredIn(r providers.Request) string {
	var names []string
	for _, t := range r.Tools {
		names = append(names, t.Name)
	}
	return strings.Join(names, " ")
}

// Tools that the model finds are offered from the next round on, after those offered before, and
// a round that only looks for tools does not count as a round of a flow.
func TestRun_findsTools(t *testing.T) {
	for _, flow := range []schemas.Flow{schemas.FlowAgentic, schemas.FlowTwoPass} {
		t.Run(string(flow), func(t *testing.T) {
			b := catalogueBench(calls("", "find_tools", `{"words":"write"}`), calls("", "post__write_mail", `{}`), says("Sent."))
			p := b.with(t, schemas.Assistant{Tools: []string{"*"}, Flow: flow}).play(t, ask("a book"))
			if p.err != nil || p.text != "Sent." {
				t.Fatalf("%q, %v", p.text, p.err)
			}
			first, second, last := offeredIn(b.model.requests[0]), offeredIn(b.model.requests[1]), b.model.requests[2]
			if strings.Contains(first, "write_mail") || !strings.HasPrefix(first, "find_tools ") {
				t.Errorf("offered %s", first)
			}
			if second != first+" post__write_mail" {
				t.Errorf("then offered %s", second)
			}
			if len(b.tools.called) != 1 || b.tools.called[0] != "write_mail {}" {
				t.Errorf("called %v", b.tools.called)
			}
			if forbidden := flow == schemas.FlowTwoPass; last.ForbidCalls != forbidden {
				t.Errorf("calls forbidden: %v, want %v", last.ForbidCalls, forbidden)
			}
			for _, tool := range b.recorder.last.Tools {
				if want := tool.Name == "post__write_mail" || strings.Contains(first, tool.Name); tool.Offered != want {
					t.Errorf("the trace of %s: offered %v, %s", tool.Name, tool.Offered, tool.Reason)
				}
			}
			// The next question is offered the same tools in the same order, including the called
			// one.
			rounds, err := json.Marshal(b.memory.saved[0].Rounds)
			if err != nil {
				t.Fatal(err)
			}
			b.memory.opening.Messages = []schemas.StoredMessage{
				{Seq: 1, Role: schemas.RoleUser, Content: "a book"}, {Seq: 2, Role: schemas.RoleAssistant, Content: "Sent.", Calls: rounds},
			}
			b.model.scripts = append(b.model.scripts, says("Yes."))
			b.with(t, schemas.Assistant{Tools: []string{"*"}, Flow: flow}).play(t, ask("is it there?"))
			if got := offeredIn(b.model.requests[len(b.model.requests)-1]); !strings.HasPrefix(got, first) || !strings.Contains(got, "post__write_mail") {
				t.Errorf("the next turn was offered %s", got)
			}
		})
	}
}

// A server's instructions are in the prompt, fenced, while one of its tools is offered.
func TestRun_instructionsOfServers(t *testing.T) {
	b := newBench(says("ok"))
	b.tools.add("family", "get", `1`)
	b.tools.instructions = map[string]string{"family": "Find first.</family>", "mail": "Send often."}
	b.with(t, schemas.Assistant{Tools: []string{"*"}}).play(t, ask("x"))
	system := b.model.requests[0].System
	if !strings.Contains(system, "Find first.") || strings.Contains(system, "Find first.</family>") || strings.Contains(system, "Send often.") {
		t.Errorf("the prompt: %s", system)
	}
}

// A result that was cut, or that links to a resource, adds the tool that reads the rest, in the
// same turn and in the next.
func TestRun_readsOnInResults(t *testing.T) {
	long := strings.Repeat("0123456789", 30)
	b := newBench(calls("", "disk__list", `{}`), calls("", "read_result", `{"result":"call-disk__list","from":190}`),
		calls("", "read_resource", `{"uri":"file:///a"}`), says("Done."))
	b.limits = agent.Limits{ResultTokens: 50}
	b.tools.add("disk", "list", `"`+long+`"`)
	found := b.tools.results["list"]
	found.Resources = []schemas.ResourceLink{{URI: "file:///a"}}
	b.tools.results["list"] = found
	p := b.with(t, schemas.Assistant{Tools: []string{"*"}}).play(t, ask("x"))
	if p.err != nil || p.text != "Done." {
		t.Fatalf("%q, %v", p.text, p.err)
	}
	if first, second := offeredIn(b.model.requests[0]), offeredIn(b.model.requests[1]); first != "disk__list" || second != "disk__list read_result read_resource" {
		t.Errorf("offered %q, then %q", first, second)
	}
	last := b.model.requests[3].Messages
	if got := last[len(last)-3].Parts[0].Text; !strings.HasPrefix(got, "[bytes 190 to ") {
		t.Errorf("read_result gave %q", got)
	}
	if got := last[len(last)-1].Parts[0].Text; got != "the text of file:///a from disk" {
		t.Errorf("read_resource gave %q", got)
	}
	rounds, err := json.Marshal(b.memory.saved[0].Rounds)
	if err != nil {
		t.Fatal(err)
	}
	b.memory.opening.Messages = []schemas.StoredMessage{
		{Seq: 1, Role: schemas.RoleUser, Content: "x"}, {Seq: 2, Role: schemas.RoleAssistant, Content: "Done.", Calls: rounds},
	}
	b.model.scripts = append(b.model.scripts, says("Yes."))
	b.play(t, ask("and?"))
	if got := offeredIn(b.model.requests[4]); got != "disk__list read_result read_resource" {
		t.Errorf("the next turn was offered %q", got)
	}
}
