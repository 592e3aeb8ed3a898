package schemas_test

import (
	"testing"

	"molar/schemas"
)

// Rights are the union of groups; an exclusion counts in its own group only.
func TestRights(t *testing.T) {
	staff := schemas.Group{Name: "staff", Assistants: []string{"helpdesk"}, Tools: []string{"tickets__*", "!tickets__reset_*"}}
	admins := schemas.Group{Name: "admins", Assistants: []string{"*", "!helpdesk"}, Tools: []string{"reset_password"}}
	open := schemas.Group{Name: "open"}
	for _, tt := range []struct {
		groups                          []schemas.Group
		helpdesk, dental, read, restart bool
	}{
		{[]schemas.Group{staff}, true, false, true, false},
		{[]schemas.Group{admins}, false, true, false, true},
		{[]schemas.Group{staff, admins}, true, true, true, true},
		{[]schemas.Group{open}, true, true, true, true},
	} {
		r := &schemas.Rights{Groups: tt.groups}
		read := r.Tool(schemas.ToolInfo{Name: "tickets__list", ToolName: "list"})
		restart := r.Tool(schemas.ToolInfo{Name: "tickets__reset_password", ToolName: "reset_password"})
		if h, d := r.Assistant("helpdesk"), r.Assistant("dental"); h != tt.helpdesk || d != tt.dental || read != tt.read || restart != tt.restart {
			t.Errorf("%v: helpdesk %v, dental %v, list %v, reset %v", r.Names(), h, d, read, restart)
		}
	}
	var all *schemas.Rights
	if !all.Assistant("any") || !all.Tool(schemas.ToolInfo{Name: "any"}) {
		t.Error("nil rights have a limit")
	}
}
