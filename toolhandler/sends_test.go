package toolhandler_test

import (
	"encoding/json"
	"slices"
	"testing"

	"molar/schemas"
	"molar/toolhandler"
)

func TestSends(t *testing.T) {
	const schema = `{"type":"object","properties":{"url":{"type":"string","format":"uri"},"id":{"type":"string","format":"uuid"},"lang":{"type":"string","enum":["vi"]},"n":{"type":"integer"},"q":{"type":"string"}}}`
	for name, tt := range map[string]struct {
		tool  string
		rules schemas.ToolRules
		want  []string
	}{
		"a reader":         {"fetch", schemas.ToolRules{}, []string{"q", "url"}},
		"egress: false":    {"fetch", schemas.ToolRules{NoEgress: true}, nil},
		"marked by a rule": {"act", schemas.ToolRules{ReadOnly: true}, []string{"q", "url"}},
		"a writer":         {"send", schemas.ToolRules{}, nil},
	} {
		tool := schemas.Tool{ToolInfo: schemas.ToolInfo{ToolName: tt.tool, InputSchema: json.RawMessage(schema)}, Rules: tt.rules}
		if got := toolhandler.Sends(tool); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
