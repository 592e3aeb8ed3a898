//go:build linux

package _test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// A plain stream whose host is killed leaves what it had shown, but for the last quarter of a second,
// as an interrupted answer. Until then its conversation shows it as running.
func TestReplicas_KeepsWhatWasShown(t *testing.T) {
	t.Parallel()
	for name, file := range map[string]bool{"SQLite": true, "PostgreSQL": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := start(t, trial{file: file}.start(t, "").command)
			type kept struct {
				Messages []struct{ Role, Content, Status string }
			}
			read := func(conversation string) (k kept) {
				t.Helper()
				if err := json.NewDecoder(call(t.Context(), t, http.MethodGet, h, "/v1/conversations/"+conversation, "").Body).Decode(&k); err != nil {
					t.Fatal(err)
				}
				return k
			}
			for _, words := range []int{1, 30} {
				conversation := fmt.Sprint("c", words)
				body := `{"chat_id":"` + conversation + `","stream":true,"messages":[{"role":"user","content":"count"}]}`
				lines := bufio.NewScanner(call(t.Context(), t, http.MethodPost, h, "/v1/chat/completions", body).Body)
				began := time.Now()
				for lines.Scan() && !strings.Contains(lines.Text(), fmt.Sprint(`"w`, words)) {
				}
				each := time.Since(began) / time.Duration(words)
				if k := read(conversation); len(k.Messages) != 2 || k.Messages[0].Content != "count" || k.Messages[1].Status != "running" {
					t.Errorf("while it runs: %+v", k)
				}
				if err := h.Kill(); err != nil {
					t.Fatal(err)
				}
				if err := h.Start(); err != nil {
					t.Fatal(err)
				}
				k := read(conversation)
				for late := time.Now().Add(20 * time.Second); len(k.Messages) != 2 || k.Messages[1].Status != "interrupted"; k = read(conversation) {
					if time.Now().After(late) {
						t.Fatalf("it is not interrupted: %+v", k)
					}
					<-time.After(100 * time.Millisecond)
				}
				got := len(strings.Fields(k.Messages[1].Content))
				// A quarter of a second of words, and one commit on a busy machine.
				if least := words - int(500*time.Millisecond/each) - 1; k.Messages[0].Content != "count" || got < least {
					t.Errorf("of %d words, one each %v, %d are kept: %+v", words, each, got, k)
				}
			}
		})
	}
}
