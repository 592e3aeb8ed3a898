//go:build linux

package _test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"strings"
	"syscall"
	"testing"
)

// A keyed turn that a restart interrupted, orderly or not, is taken over by the retry of its key: the
// conversation has its question once, with the whole answer.
func TestReplicas_RetryAfterRestart(t *testing.T) {
	t.Parallel()
	for name, file := range map[string]bool{"SQLite": true, "PostgreSQL": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := trial{file: file}.start(t, "shutdown: {drain: 100ms}\n")
			h := start(t, c.command)
			for conversation, end := range map[string]syscall.Signal{"orderly": syscall.SIGTERM, "killed": syscall.SIGKILL} {
				ask := func() *bufio.Scanner {
					t.Helper()
					body := `{"chat_id":"` + conversation + `","stream":true,"messages":[{"role":"user","content":"count"}]}`
					req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+h.Addr()+"/v1/chat/completions", strings.NewReader(body))
					if err != nil {
						t.Fatal(err)
					}
					req.Host = Name
					req.Header.Set("Content-Type", "application/json")
					req.Header.Set("Idempotency-Key", conversation)
					res, err := http.DefaultClient.Do(req)
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(func() { _ = res.Body.Close() })
					return bufio.NewScanner(res.Body)
				}
				for lines := ask(); lines.Scan() && !strings.Contains(lines.Text(), "w9"); {
				}
				if err := h.Process().Process.Signal(end); err != nil {
					t.Fatal(err)
				}
				h.Ended()
				if err := h.Start(); err != nil {
					t.Fatal(err)
				}
				for whole, tries := false, 0; !whole && tries < 3; tries++ { // until the turn of a killed process is given up
					for lines := ask(); lines.Scan(); {
						whole = whole || strings.Contains(lines.Text(), "[DONE]")
					}
				}
				var kept struct {
					Messages []struct{ Role, Content, Status string }
				}
				if err := json.NewDecoder(call(t.Context(), t, http.MethodGet, h, "/v1/conversations/"+conversation, "").Body).Decode(&kept); err != nil {
					t.Fatal(err)
				}
				if len(kept.Messages) != 2 || kept.Messages[1].Status != "" || !strings.HasSuffix(kept.Messages[1].Content, "w60") {
					t.Errorf("%s: %+v", conversation, kept.Messages)
				}
			}
		})
	}
}
