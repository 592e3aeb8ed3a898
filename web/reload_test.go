package web_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/web"
)

func TestReload(t *testing.T) {
	tests := []struct {
		name   string
		done   web.Reloaded
		err    error
		status int
		want   string
	}{
		{
			"what changed is told",
			web.Reloaded{Added: []string{"a"}, NeedsRestart: []string{"listen"}},
			nil, 200,
			`{"object":"servers.reload","added":["a"],"removed":[],"restarted":[],"updated":[],"needs_restart":["listen"]}`,
		},
		{
			"an assistant is offered",
			web.Reloaded{Added: []string{"a"}, Offer: "general"},
			nil, 200,
			`{"object":"servers.reload","added":["a"],"removed":[],"restarted":[],"updated":[],"needs_restart":[],"offer":"general"}`,
		},
		{
			"a broken file is the caller's to mend",
			web.Reloaded{},
			&web.BrokenConfigError{Faults: []string{"molar.yaml:1: lisen: unknown key", "molar.yaml:3: x"}}, 400,
			`{"error":{"message":"the config file has faults, so the last good one stays in force: molar.yaml:1: lisen: unknown key; molar.yaml:3: x",` +
				`"type":"invalid_request_error","param":null,"code":"config_invalid","faults":["molar.yaml:1: lisen: unknown key","molar.yaml:3: x"]}}`,
		},
		{"any other fault is the host's", web.Reloaded{}, errors.New("disk: secret path"), 500, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := config(t, play(nil))
			cfg.Reload = func(context.Context) (web.Reloaded, error) { return tt.done, tt.err }
			w := serve(build(t, cfg), request(http.MethodPost, "/v1/servers/reload", ""))
			if w.Code != tt.status {
				t.Fatalf("status %d: %s", w.Code, w.Body)
			}
			if diff := cmp.Diff(tt.want, w.Body.String()); tt.want != "" && diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			if strings.Contains(w.Body.String(), "secret") {
				t.Errorf("an inner fault was told: %s", w.Body)
			}
		})
	}
}

// A page of another origin must not make the host reread its file.
func TestReload_CrossOrigin(t *testing.T) {
	called := false
	cfg := config(t, play(nil))
	cfg.Reload = func(context.Context) (web.Reloaded, error) { called = true; return web.Reloaded{}, nil }
	r := request(http.MethodPost, "/v1/servers/reload", "")
	r.Header.Set("Origin", "http://evil.test")
	if w := serve(build(t, cfg), r); w.Code != http.StatusForbidden || called {
		t.Errorf("status %d, called %v", w.Code, called)
	}
}

// A host without Reload has no such route.
func TestReload_Absent(t *testing.T) {
	w := serve(handler(t, play(nil)), request(http.MethodPost, "/v1/servers/reload", ""))
	if w.Code != http.StatusNotFound || !json.Valid(w.Body.Bytes()) {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
}
