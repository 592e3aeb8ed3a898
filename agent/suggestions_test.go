package agent_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/internal/testkit/packs"
	"molar/schemas"
)

// The suggested first questions are the topic's; without a topic they name the servers whose
// tools the assistant may call, three at most.
func TestAssistants_FirstQuestions(t *testing.T) {
	b := newBench()
	for _, server := range []string{schemas.ToolServer, "books", "books", "post", "maps", "clock", "notes"} {
		b.tools.add(server, "look", `"x"`)
	}
	b.others = []schemas.Assistant{{Name: "teeth", Description: "About teeth.", Topic: "dental", Tools: []string{"*"}}, {Name: "bare"}}
	b = b.with(t, schemas.Assistant{Tools: []string{"*", "!post__*"}})
	want := []schemas.AssistantInfo{
		{Name: "test", FirstQuestions: map[string][]string{
			"en": {"What can I do with the tools of books?", "What can I do with the tools of maps?", "What can I do with the tools of clock?"},
			"vi": {"Tôi làm được gì với các công cụ của books?", "Tôi làm được gì với các công cụ của maps?", "Tôi làm được gì với các công cụ của clock?"},
		}},
		{Name: "teeth", Description: "About teeth.", Topic: "dental", FirstQuestions: packs.Dental().FirstQuestions()},
		{Name: "bare", FirstQuestions: map[string][]string{}},
	}
	if diff := cmp.Diff(want, b.agent.Assistants()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
