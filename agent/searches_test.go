package agent_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/schemas"
)

// An assistant uses the bundled searches that its tools and its search list name, and no others.
func TestSearches(t *testing.T) {
	b := newBench()
	b.tools.add(schemas.ToolServer, "handbook", `"x"`)
	b.tools.add(schemas.ToolServer, "web", `"x"`)
	b.tools.add(schemas.ToolServer, "off", `"x"`)
	b.tools.tools[2].Withheld = "switched off"
	b.tools.add("other", "find", `"x"`)
	b.others = []schemas.Assistant{
		{Name: "general", Tools: []string{"*", "!tool-server__*"}},
		{Name: "reader", Tools: []string{"handbook"}, Search: []string{"web", "off"}},
	}
	b.with(t, schemas.Assistant{Tools: []string{"*"}})
	names := func(tools []schemas.Tool) []string {
		var all []string
		for _, tool := range tools {
			all = append(all, tool.ToolName)
		}
		return all
	}
	for assistant, want := range map[string][2][]string{
		"":        {{"handbook", "web"}, nil},
		"unknown": {{"handbook", "web"}, nil},
		"general": {nil, nil},
		"reader":  {{"handbook"}, {"web"}},
	} {
		byModel, byCode := b.agent.Searches(assistant)
		if diff := cmp.Diff(want, [2][]string{names(byModel), names(byCode)}); diff != "" {
			t.Errorf("%q: %s", assistant, diff)
		}
	}
}
