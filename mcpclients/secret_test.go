package mcpclients_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"molar/mcpclients"
	"molar/mcpclients/transport"
)

// Headers of the configuration and the query of an address are in no error, status or log line,
// whatever the server answers.
func TestManager_KeepsSecrets(t *testing.T) {
	const secret = "canary-4711"
	for _, code := range []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusInternalServerError} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Authorization") != "Bearer "+secret {
					t.Error("the header did not reach the server")
				}
				http.Error(w, http.StatusText(code), code)
			}))
			defer server.Close()
			var log bytes.Buffer
			m, err := mcpclients.New(mcpclients.Config{
				Servers: []transport.ServerConfig{{
					Name: "s", URL: server.URL + "/mcp?key=" + secret, Headers: map[string]string{"Authorization": "Bearer " + secret},
				}},
				Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
			})
			if err != nil {
				t.Fatal(err)
			}
			m.Start(t.Context())
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			_ = m.Wait(ctx, nil) // it fails, or is retried
			_, callErr := m.Call(ctx, "s", "t", json.RawMessage(`{}`))
			status := fmt.Sprintf("%+v", m.Status())
			if err := m.Close(); err != nil {
				t.Error(err)
			}
			for what, text := range map[string]string{"error": fmt.Sprint(callErr), "status": status, "log": log.String()} {
				if strings.Contains(text, secret) {
					t.Errorf("the %s holds the secret: %s", what, text)
				}
			}
			if callErr == nil {
				t.Error("the call went through")
			}
		})
	}
}
