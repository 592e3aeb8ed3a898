package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/internal/config"
	"molar/mcpclients"
	"molar/schemas"
)

// trust frees the calls for which no rule sets a policy, and nothing else.
func TestServerConfig_trust(t *testing.T) {
	server := config.Server{Command: "x", Tools: config.Map[config.ToolRule]{
		{Name: "drop", Value: config.ToolRule{Policy: schemas.PolicyConfirm}},
		{Name: "get_*", Value: config.ToolRule{ReadOnly: true}},
	}}
	plain := []mcpclients.ToolRule{
		{Glob: "drop", ToolRules: schemas.ToolRules{Policy: schemas.PolicyConfirm}},
		{Glob: "get_*", ToolRules: schemas.ToolRules{ReadOnly: true}},
	}
	if diff := cmp.Diff(plain, serverConfig("s", server).Rules); diff != "" {
		t.Error(diff)
	}
	server.Trust = true
	trusted := []mcpclients.ToolRule{
		{Glob: "drop", ToolRules: schemas.ToolRules{Policy: schemas.PolicyConfirm}},
		{Glob: "get_*", ToolRules: schemas.ToolRules{Policy: schemas.PolicyAllow, ReadOnly: true}},
		{Glob: "*", ToolRules: schemas.ToolRules{Policy: schemas.PolicyAllow}},
	}
	if diff := cmp.Diff(trusted, serverConfig("s", server).Rules); diff != "" {
		t.Error(diff)
	}
}
