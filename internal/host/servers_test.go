package host_test

import (
	"testing"

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
