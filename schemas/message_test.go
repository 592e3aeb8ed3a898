package schemas_test

import (
	"testing"

	"molar/schemas"
)

func TestMessage_text(t *testing.T) {
	parts := []schemas.Part{
		{Kind: schemas.PartContext, Text: "summary"},
		{Kind: schemas.PartText, Text: "one "},
		{Kind: schemas.PartCall, Call: &schemas.ToolCall{ID: "1"}},
		{Kind: schemas.PartText},
		{Kind: schemas.PartText, Text: "two"},
	}
	tests := []struct {
		role       schemas.Role
		said, full string
	}{
		{schemas.RoleUser, "one \ntwo", "summary\n\none \n\ntwo"},
		{schemas.RoleAssistant, "one two", "summaryone two"},
	}
	for _, tt := range tests {
		m := schemas.Message{Role: tt.role, Parts: parts}
		if m.Said() != tt.said || m.FullText() != tt.full {
			t.Errorf("%s: said %q, full %q", tt.role, m.Said(), m.FullText())
		}
		if calls := m.Calls(); len(calls) != 1 || calls[0].ID != "1" {
			t.Errorf("calls %v", calls)
		}
	}
}

func TestUsage_Add(t *testing.T) {
	got := schemas.Usage{PromptTokens: 1, CompletionTokens: 2, TotalTokens: 3, CachedTokens: 4, ReasoningTokens: 5}.
		Add(schemas.Usage{PromptTokens: 10, CompletionTokens: 20, TotalTokens: 30, CachedTokens: 40, ReasoningTokens: 50})
	if want := (schemas.Usage{PromptTokens: 11, CompletionTokens: 22, TotalTokens: 33, CachedTokens: 44, ReasoningTokens: 55}); got != want {
		t.Errorf("got %+v", got)
	}
}
