package config_test

import (
	"strings"
	"testing"

	"molar/internal/config"
)

// Approvers are groups of the file, with the policy that they imply, and a webhook has a secret.
func TestApprovers(t *testing.T) {
	const file = `
groups:
  it-admins: {approves_own: true}
mcpServers:
  tickets: {command: tickets, tools: {"reset_*": {RULE}}}
`
	tests := map[string]struct{ rule, more, fault string }{
		"a group":            {`policy: confirm, approvers: [it-admins]`, "", ""},
		"the policy implied": {`approvers: [it-admins]`, "", ""},
		"an unknown group":   {`approvers: [it-admin]`, "", `is not in groups`},
		"another policy":     {`policy: allow, approvers: [it-admins]`, "", "applies only with policy confirm"},
		"denied":             {`policy: deny, approvers: [it-admins]`, "", "applies only with policy confirm"},
		"a webhook":          {``, "approvals: {webhook: https://chat.example/x, secret: whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw}", ""},
		"without a secret":   {``, "approvals: {webhook: https://chat.example/x}", "want both webhook and secret"},
		"a short secret":     {``, "approvals: {webhook: https://chat.example/x, secret: short}", "want whsec_ and Base64"},
		"no Base64":          {``, "approvals: {webhook: https://chat.example/x, secret: whsec_!!!}", "want whsec_ and Base64"},
		"no address":         {``, "approvals: {webhook: chat.example, secret: a secret of more than 24 bytes}", "want an address"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := load(t, strings.Replace(file, "RULE", tt.rule, 1)+tt.more)
			if tt.fault == "" && err != nil || tt.fault != "" && (err == nil || !strings.Contains(err.Error(), tt.fault)) {
				t.Errorf("%v, want %q", err, tt.fault)
			}
		})
	}
	cfg, err := load(t, "approvals: {webhook: https://chat.example/x, secret: whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw}")
	if err != nil || len(cfg.Approvals.Key()) != 24 {
		t.Errorf("a key of %d bytes, %v", len(cfg.Approvals.Key()), err)
	}
	if got := (config.Approvals{Secret: "plain"}).Key(); string(got) != "plain" {
		t.Errorf("%q", got)
	}
}
