package toolhandler_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/schemas"
	"molar/toolhandler"
)

// The values of a call come in its own order, lists together, without what the schema gives anyway.
func TestValuesOf(t *testing.T) {
	tool := schemas.Tool{ToolInfo: schemas.ToolInfo{Server: "mail", ToolName: "mail_send_letter", InputSchema: json.RawMessage(
		`{"type":"object","properties":{"to":{"type":"array","items":{"type":"string"}},"body":{"type":"string"},"kind":{"type":"string","default":"plain"}}}`)}}
	got := toolhandler.ValuesOf(tool, `{"to":["a@b.example","c@d.example"],"kind":"plain","body":"Hi","at":{"day":5}}`)
	want := []toolhandler.Value{
		{Path: "to", Use: toolhandler.Place, Texts: []string{"a@b.example", "c@d.example"}},
		{Path: "body", Use: toolhandler.Content, Texts: []string{"Hi"}},
		{Path: "at.day", Use: toolhandler.Place, Texts: []string{"5"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if verb, object := toolhandler.VerbOf(tool); verb != "send" || !cmp.Equal(object, []string{"letter"}) {
		t.Errorf("%q %q", verb, object)
	}
}

// A tool that announces itself destructive is granted for exactly one destination.
func TestGranted_destructive(t *testing.T) {
	tool := schemas.Tool{ToolInfo: schemas.ToolInfo{Name: "files__write_file"}}
	ask := toolhandler.Approval{Tool: tool, Destinations: []toolhandler.Destination{{ID: "exact", Arguments: map[string]string{"path": "~/reports/a.txt"}}}}
	exact := ask.Destinations[0].Grant(tool.Name, "")
	folder := toolhandler.Destination{Width: schemas.WidthFolder, Arguments: map[string]string{"path": "~/reports"}}.Grant(tool.Name, "")
	for rule, folderCounts := range map[toolhandler.Rule]bool{toolhandler.RuleDestructive: false, toolhandler.RuleOrder: true} {
		ask.Reason = toolhandler.Reason{Rule: rule, Orders: []schemas.Origin{"mail"}}
		if !toolhandler.Granted([]schemas.Grant{exact}, ask) || toolhandler.Granted([]schemas.Grant{folder}, ask) != folderCounts {
			t.Errorf("%s", rule)
		}
	}
}
