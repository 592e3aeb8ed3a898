package agent_test

import (
	"strings"
	"testing"

	"molar/schemas"
)

// The tools of a server to which the person connects during a turn can be called in that turn, as far as
// the assistant and the config allow, in a round that the connection does not count for.
func TestRun_joinsTools(t *testing.T) {
	for _, flow := range []schemas.Flow{schemas.FlowAgentic, schemas.FlowTwoPass} {
		t.Run(string(flow), func(t *testing.T) {
			b := newBench(calls("", "desk__connect", `{}`), calls("", "desk__book", `{}`), says("Booked."))
			b.tools.add("desk", "connect", `"Connected to desk."`)
			b.tools.add("other", "connect", `"Connected to other."`)
			tools := len(b.tools.tools)
			for _, name := range []string{"book", "erase", "secret"} {
				b.tools.add("desk", name, `"done"`)
			}
			b.tools.add("other", "thing", `"done"`)
			for i := range b.tools.tools {
				b.tools.tools[i].Personal, b.tools.tools[i].Rules.Policy = true, schemas.PolicyAllow
			}
			b.tools.results["connect"] = schemas.ToolResult{Server: "desk", ToolName: "connect", Output: schemas.TextOutput("Connected to desk.")}
			listed := b.tools.tools[tools:]
			listed[1].Rules.Policy = schemas.PolicyDeny
			b.tools.brings = map[string][]schemas.Tool{"connect": listed}
			b.tools.tools = b.tools.tools[:tools:tools]

			turn := ask("book a desk")
			turn.Caller = schemas.Caller{ID: "ann"}
			p := b.with(t, schemas.Assistant{Tools: []string{"*", "!desk__secret"}, Flow: flow}).play(t, turn)
			if p.err != nil || p.text != "Booked." {
				t.Fatalf("%q, %v", p.text, p.err)
			}
			first, second := offeredIn(b.model.requests[0]), offeredIn(b.model.requests[1])
			if first != "desk__connect other__connect" || second != first+" desk__book" {
				t.Errorf("offered %s, then %s", first, second)
			}
			if got := strings.Join(b.tools.called, ", "); got != "connect {}, book {}" {
				t.Errorf("called %s", got)
			}
			for _, tool := range b.recorder.last.Tools {
				if want := map[string]string{"desk__erase": "its policy is deny", "desk__secret": "the assistant's tools do not include it"}[tool.Name]; tool.Reason != want && want != "" {
					t.Errorf("the trace of %s: %s, want %s", tool.Name, tool.Reason, want)
				}
			}
		})
	}
}
