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
