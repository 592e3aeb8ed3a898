package host_test

import (
	"testing"

	"molar/internal/cli"
	"molar/internal/host"
	"molar/schemas"
)

func TestServerLine(t *testing.T) {
	for want, s := range map[string]schemas.ServerStatus{
		"notes ready (http), 1 tool":                        {State: schemas.StateReady, Tools: 1},
		"notes ready (http), 0 tools, 2 left out":           {State: schemas.StateReady, Skipped: []string{"a", "b"}},
		"notes degraded (http), 3 tools: it is asked again": {State: schemas.StateDegraded, Tools: 3, Reason: "it is asked again"},
		"notes failed (http): refused":                      {State: schemas.StateFailed, Tools: 3, Reason: "refused"},
	} {
		s.Name, s.Transport = "notes", "http"
		if got := host.ServerLine(s); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestHint(t *testing.T) {
	for _, tt := range []struct{ file, text, want string }{
		{"", "run molar servers approve a", "run molar servers approve a"},
		{"a b.yaml", "run molar servers approve a", "run molar servers approve --config 'a b.yaml' a"},
		{"x.yaml", "molar tools lint, or molar servers add NAME -- COMMAND", "molar tools lint --config x.yaml, or molar servers add --config x.yaml NAME -- COMMAND"},
	} {
		if got := host.Hint(&cli.CLI{ConfigFile: tt.file}, tt.text); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}
