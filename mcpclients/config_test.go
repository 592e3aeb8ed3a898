package mcpclients_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"molar/mcpclients"
	"molar/mcpclients/transport"
	"molar/schemas"
)

func TestNew_RejectsBadConfig(t *testing.T) {
	type cfg = transport.ServerConfig
	for _, tc := range []struct {
		name   string
		server cfg
		want   string
	}{
		{"no name", cfg{Command: "x"}, `server name "" is empty`},
		{"nothing to reach", cfg{Name: "s"}, "mcpServers.s: needs exactly one of command and url"},
		{"two ways", cfg{Name: "s", Command: "x", URL: "http://h/"}, "exactly one of"},
		{"type without its field", cfg{Name: "s", Command: "x", Type: "http"}, `type "http" needs a url`},
		{"unknown type", cfg{Name: "s", Command: "x", Type: "pigeon"}, `type "pigeon" is unknown: use "stdio"`},
		{"no address", cfg{Name: "s", URL: "ftp://h/?key=hidden"}, "not an http or https address"},
		{"bad header", cfg{Name: "s", URL: "http://h/", Headers: map[string]string{"X": "hidden\n"}}, `header "X"`},
		{"bad variable", cfg{Name: "s", Command: "x", Env: map[string]string{"A=B": "hidden"}}, `env "A=B"`},
		{"long timeout", cfg{Name: "s", Command: "x", Timeout: time.Hour}, "up to 30m0s"},
		{"unknown protocol", cfg{Name: "s", Command: "x", Protocol: "1.0"}, "use one of auto"},
		{"bad pattern", cfg{Name: "s", Command: "x", IncludeTools: []string{"[a"}}, `tool pattern "[a"`},
		{"bad rule", cfg{Name: "s", Command: "x", Rules: []transport.ToolRule{{Glob: "a["}}}, `tool pattern "a["`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := mcpclients.New(servers(tc.server))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
			if err != nil && strings.Contains(err.Error(), "hidden") {
				t.Errorf("%q shows a value", err)
			}
		})
	}
	t.Run("all faults at once", func(t *testing.T) {
		_, err := mcpclients.New(servers(cfg{Name: "a"}, cfg{Name: "b"}, cfg{Name: "c", Command: "x"}, cfg{Name: "c", Command: "y"}))
		for _, want := range []string{"mcpServers.a:", "mcpServers.b:", "mcpServers.c: the name is used twice"} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v lacks %q", err, want)
			}
		}
	})
}

// A server with missing variables is listed with the variables to set, and starts once they are
// set.
func TestNew_UnsetVariable(t *testing.T) {
	const why = "molar.yaml:2: mcpServers.s.url: environment variable KEY is not set; set it"
	lacking := transport.ServerConfig{Name: "s", Unset: why}
	m := start(t, servers(lacking))
	if st := status(t, m); st.State != schemas.StateFailed || st.Reason != why {
		t.Errorf("%s: %s", st.State, st.Reason)
	}
	if changes, err := m.Apply(t.Context(), []transport.ServerConfig{lacking}); err != nil || !changes.Empty() {
		t.Errorf("the same again: %+v, %v", changes, err)
	}
	changes, err := m.Apply(t.Context(), []transport.ServerConfig{{Name: "s", Command: "no-such-command"}})
	if err != nil || !slices.Equal(changes.Restarted, []string{"s"}) {
		t.Errorf("once it is set: %+v, %v", changes, err)
	}
}

func TestNew_DisabledServer(t *testing.T) {
	m := start(t, servers(transport.ServerConfig{Name: "s", Command: "no-such-command", Disabled: true}))
	if st := status(t, m); st.State != schemas.StateDisabled || !strings.Contains(st.Reason, "mcpServers.s.disabled") {
		t.Errorf("%+v", st)
	}
	if _, err := m.Call(t.Context(), "s", "a", nil); err == nil || !strings.Contains(err.Error(), "disabled") {
		t.Errorf("call: %v", err)
	}
}
