package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"molar/internal/cli"
	"molar/internal/session"
	"molar/internal/testkit"
	"molar/internal/testkit/models"
)

// TestChat_ExitCodes: each code in each format, with the answer on standard output.
func TestChat_ExitCodes(t *testing.T) {
	t.Parallel()
	model := startModel(t, models.Config{Tool: "echo", Args: json.RawMessage(`{"text":"x"}`), Tokens: 3})
	broken := startModel(t, models.Config{Script: func(models.Request) *models.Reply {
		return &models.Reply{Status: 400, Error: "no"}
	}})
	badmcp := testkit.Build(t, "molar/internal/testkit/badmcp")
	confirm := plainConfig(t, "mcpServers: {bad: {command: "+badmcp+", tools: {'*': {policy: confirm}}}}\n")
	tests := map[string]struct {
		args  []string
		model *models.Server
		code  int
		want  string // on standard output
		says  string // on standard error
	}{
		"answered":       {[]string{"--config", confirm, "--yes", "Echo"}, model, cli.OK, "tok3", "• bad__echo"},
		"no tools":       {[]string{"--config", confirm, "--no-tools", "Echo"}, model, cli.OK, "tok3", ""},
		"failed":         {[]string{"--config", confirm, "Echo"}, broken, cli.Failure, "", "molar: "},
		"usage":          {[]string{"--config", confirm, "--timeout", "x", "Echo"}, model, cli.Misuse, "", "molar: "},
		"no config":      {[]string{"--config", "gone.yaml", "Echo"}, model, cli.Misuse, "", "gone.yaml"},
		"refused":        {[]string{"--assistant", "dental", "Write a poem about the Panama canal"}, nil, session.ExitRefused, "dental", ""},
		"needs approval": {[]string{"--config", confirm, "Echo"}, model, session.ExitUnapproved, "tok3", "needs approval: bad__echo"},
	}
	for name, test := range tests {
		for _, format := range []string{cli.Text, cli.JSON, cli.StreamJSON} {
			t.Run(name+" "+format, func(t *testing.T) {
				var stdout, stderr bytes.Buffer
				args := append([]string{"chat", "--output-format", format}, test.args...)
				code := execute(t.Context(), args, lookup(homeEnv(t, test.model)), strings.NewReader(""), &stdout, &stderr)
				if code != test.code {
					t.Errorf("exit code %d, want %d", code, test.code)
				}
				if !strings.Contains(stdout.String(), test.want) {
					t.Errorf("standard output %q", &stdout)
				}
				if format == cli.Text && !strings.Contains(stderr.String(), test.says) {
					t.Errorf("standard error %q", &stderr)
				}
				if format != cli.Text {
					for line := range strings.Lines(stdout.String()) {
						if !json.Valid([]byte(line)) {
							t.Errorf("no JSON: %q", line)
						}
					}
				}
				if strings.Contains(stdout.String()+stderr.String(), "\x1b") {
					t.Error("styles without a terminal")
				}
			})
		}
	}
}
