package host

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/internal/config"
	"molar/mcpclients/transport"
	"molar/schemas"
)

// What the operator says about a server and its tools reaches the rules, and nothing else does.
func TestServerConfig_marks(t *testing.T) {
	server := config.Server{Command: "x", Tools: config.Map[config.ToolRule]{
		{Name: "drop", Value: config.ToolRule{Policy: schemas.PolicyConfirm}},
		{Name: "get_*", Value: config.ToolRule{ReadOnly: true}},
	}}
	plain := []transport.ToolRule{
		{Glob: "drop", ToolRules: schemas.ToolRules{Policy: schemas.PolicyConfirm}},
		{Glob: "get_*", ToolRules: schemas.ToolRules{ReadOnly: true}},
	}
	if diff := cmp.Diff(plain, ServerConfig("s", server).Rules); diff != "" {
		t.Error(diff)
	}
	server.Trust = true
	trusted := ServerConfig("s", server)
	want := map[string]schemas.ToolRules{
		"drop":  {Policy: schemas.PolicyConfirm, Marks: schemas.ServerMarks{Trust: true}},
		"get_x": {Policy: schemas.PolicyAuto, ReadOnly: true, Marks: schemas.ServerMarks{Trust: true}},
		"other": {Policy: schemas.PolicyAuto, Marks: schemas.ServerMarks{Trust: true}},
	}
	for tool, rules := range want {
		if diff := cmp.Diff(rules, trusted.Rule(tool)); diff != "" {
			t.Errorf("%s: %s", tool, diff)
		}
	}
	server.Tools[1].Value.Adds, server.Tools[1].Value.Destructive = true, new(bool)
	if got := ServerConfig("s", server); !got.Rule("get_x").Adds || got.Rule("drop").Adds || !got.Rule("get_x").Mild || got.Rule("drop").Mild {
		t.Errorf("adds and destructive: %+v", got.Rules)
	}
}

// A server's tools are pinned unless it is trusted, or the file says otherwise.
func TestServerConfig_pin(t *testing.T) {
	for _, tt := range []struct {
		trust bool
		pin   *bool
		want  bool
	}{{false, nil, true}, {true, nil, false}, {false, new(bool), false}, {true, new(true), true}} {
		if got := ServerConfig("s", config.Server{Command: "x", Trust: tt.trust, Pin: tt.pin}).Pin; got != tt.want {
			t.Errorf("trust %v, pin %v: %v", tt.trust, tt.pin, got)
		}
	}
}
