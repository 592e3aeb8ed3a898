package toolhandler_test

import (
	"testing"

	"molar/schemas"
	"molar/toolhandler"
)

func TestClassify(t *testing.T) {
	yes, no := new(true), new(false)
	tests := []struct {
		name  string
		rules schemas.ToolRules
		hints schemas.ToolAnnotations
		want  toolhandler.Class
		why   string
	}{
		{"zap", schemas.ToolRules{ReadOnly: true}, schemas.ToolAnnotations{}, toolhandler.Reads, "the config marks it readOnly"},
		{"zap", schemas.ToolRules{}, schemas.ToolAnnotations{ReadOnlyHint: yes}, toolhandler.Reads, "it announces itself as read-only"},
		{"get_it", schemas.ToolRules{}, schemas.ToolAnnotations{ReadOnlyHint: yes, DestructiveHint: yes}, toolhandler.Writes, "it announces itself as destructive"},
		{"zap", schemas.ToolRules{}, schemas.ToolAnnotations{DestructiveHint: no}, toolhandler.Adds, "it announces that it destroys nothing"},
		{"delete_it", schemas.ToolRules{}, schemas.ToolAnnotations{ReadOnlyHint: no, DestructiveHint: no}, toolhandler.Adds, "it announces that it destroys nothing"},
		{"zap", schemas.ToolRules{}, schemas.ToolAnnotations{}, toolhandler.Writes, "it has no annotations, and its name has no verb that reads or adds"},
		{"get_it", schemas.ToolRules{}, schemas.ToolAnnotations{ReadOnlyHint: no}, toolhandler.Writes, "its annotations do not say that it only reads or adds"},
		{"get_it", schemas.ToolRules{}, schemas.ToolAnnotations{OpenWorldHint: yes}, toolhandler.Writes, "its annotations do not say that it only reads or adds"},
		{"write_it", schemas.ToolRules{Mild: true}, schemas.ToolAnnotations{ReadOnlyHint: no, DestructiveHint: yes}, toolhandler.Writes, `its name says "write"`},
		{"zap", schemas.ToolRules{Mild: true}, schemas.ToolAnnotations{DestructiveHint: yes}, toolhandler.Writes, "its annotations do not say that it only reads or adds"},
		{"create_it", schemas.ToolRules{}, schemas.ToolAnnotations{ReadOnlyHint: no}, toolhandler.Adds, `its name says "create"`},
		{"get_it", schemas.ToolRules{}, schemas.ToolAnnotations{}, toolhandler.Reads, `its name says "get"`},
		{"slack_list_channels", schemas.ToolRules{}, schemas.ToolAnnotations{}, toolhandler.Reads, `its name says "list"`},
		{"getUserByID", schemas.ToolRules{}, schemas.ToolAnnotations{}, toolhandler.Reads, `its name says "get"`},
		{"HTTPFetch", schemas.ToolRules{}, schemas.ToolAnnotations{}, toolhandler.Reads, `its name says "fetch"`},
		{"issue.read", schemas.ToolRules{}, schemas.ToolAnnotations{}, toolhandler.Reads, `its name says "read"`},
		{"get_workflow_run", schemas.ToolRules{}, schemas.ToolAnnotations{}, toolhandler.Reads, `its name says "get"`},
		{"delete_list", schemas.ToolRules{}, schemas.ToolAnnotations{}, toolhandler.Writes, `its name says "delete"`},
		{"mark-as-read", schemas.ToolRules{}, schemas.ToolAnnotations{}, toolhandler.Writes, `its name says "mark"`},
		{"read_and_delete", schemas.ToolRules{}, schemas.ToolAnnotations{}, toolhandler.Writes, `its name says "delete"`},
		{"delete_or_get", schemas.ToolRules{}, schemas.ToolAnnotations{}, toolhandler.Writes, `its name says "delete"`},
		{"get_or_create_user", schemas.ToolRules{}, schemas.ToolAnnotations{}, toolhandler.Adds, `its name says "create"`},
		{"book_appointment", schemas.ToolRules{}, schemas.ToolAnnotations{}, toolhandler.Adds, `its name says "book"`},
		{"target_sheet", schemas.ToolRules{}, schemas.ToolAnnotations{}, toolhandler.Writes, "it has no annotations, and its name has no verb that reads or adds"},
	}
	for _, tt := range tests {
		s := tool("s", tt.name, "")
		s.Rules, s.Annotations = tt.rules, tt.hints
		if class, why := toolhandler.Classify(s); class != tt.want || why != tt.why {
			t.Errorf("%s %+v: %s (%s), want %s (%s)", tt.name, tt.hints, class, why, tt.want, tt.why)
		}
	}
}
