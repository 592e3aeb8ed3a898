package transport

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"molar/mcpclients/oauth"
)

// onlyLogin is a store with one login.
type onlyLogin struct{ state json.RawMessage }

func (l onlyLogin) GetLogin(context.Context, string) (json.RawMessage, int64, error) {
	return l.state, 1, nil
}

func (onlyLogin) SwapLogin(context.Context, string, int64, json.RawMessage) (bool, error) {
	return false, nil
}

func (onlyLogin) LeaseLogin(context.Context, string, int64, time.Duration) (bool, error) {
	return false, nil
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestBearer_WhereTheTokenGoes(t *testing.T) {
	tests := []struct {
		name, server, request, method string
		sent                          bool
		status                        int // 0: the request is refused with an error
	}{
		{"home", "https://a.example/mcp", "https://a.example/mcp", http.MethodPost, true, 0},
		{"home, listening: not asked again", "https://a.example/mcp", "https://a.example/mcp", http.MethodGet, true, http.StatusMethodNotAllowed},
		{"another path of the server", "https://a.example/mcp", "https://a.example/other", http.MethodPost, true, 0},
		{"another port", "https://a.example/mcp", "https://a.example:444/mcp", http.MethodPost, false, http.StatusUnauthorized},
		{"another host", "https://a.example/mcp", "https://b.example/mcp", http.MethodPost, false, http.StatusUnauthorized},
		{"in clear", "https://a.example/mcp", "http://a.example/mcp", http.MethodPost, false, http.StatusUnauthorized},
		{"a server in clear", "http://a.example/mcp", "http://a.example/mcp", http.MethodPost, false, http.StatusUnauthorized},
		{"a server in clear nearby", "http://192.168.1.2/mcp", "http://192.168.1.2/mcp", http.MethodPost, false, http.StatusUnauthorized},
		{"a server in clear on this machine", "http://127.0.0.1:1/mcp", "http://127.0.0.1:1/mcp", http.MethodPost, true, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			state, err := json.Marshal(oauth.Grant{URL: tt.server, Access: "canary"})
			if err != nil {
				t.Fatal(err)
			}
			web, err := oauth.NewClient(nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			cfg := &ServerConfig{Name: "s", URL: tt.server}
			login := oauth.NewSource(cfg.LoginServer(), onlyLogin{state}, web, slog.New(slog.DiscardHandler))
			defer login.Close()
			sent := false
			base := roundTrip(func(r *http.Request) (*http.Response, error) {
				sent = sent || strings.Contains(r.Header.Get("Authorization"), "canary")
				return &http.Response{StatusCode: http.StatusUnauthorized, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(""))}, nil
			})
			r, err := http.NewRequestWithContext(t.Context(), tt.method, tt.request, strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			resp, err := withLogin(&http.Client{Transport: base}, cfg, login).Transport.RoundTrip(r)
			if sent != tt.sent {
				t.Errorf("token sent: %v, want %v", sent, tt.sent)
			}
			if tt.status == 0 {
				if AsLogin(err) == nil {
					t.Errorf("%v, want a refusal that asks for a login", err)
				}
				return
			}
			if err != nil || resp.StatusCode != tt.status {
				t.Fatalf("%v, want status %d", err, tt.status)
			}
			_ = resp.Body.Close()
		})
	}
}
