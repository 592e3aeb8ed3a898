//go:build linux

package _test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A goNote is what a follower reads of a turn.
type goNote struct {
	Type string `json:"type"`
	Text string `json:"text"`
	pending
	Unsure bool `json:"unsure"`
}

// follow reads a stream of a turn until see returns false, and returns the texts of the answer.
func follow(lines *bufio.Scanner, see func(note goNote, text string) bool) (text string) {
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		var c struct {
			Choices []struct{ Delta struct{ Content string } }
			Molar   goNote
		}
		if !ok || json.Unmarshal([]byte(data), &c) != nil {
			continue
		}
		for _, choice := range c.Choices {
			text += choice.Delta.Content
		}
		if !see(c.Molar, text) {
			return text
		}
	}
	return text
}

// scan returns the lines of a stream.
func scan(res *http.Response) *bufio.Scanner {
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<20)
	return lines
}

// A detached turn whose process is lost after its call goes on, on another replica or on the same host
// after its restart, orderly or not: the call is not made again, and its follower sees the whole
// answer. A call that was sent and has no result asks a person.
func TestReplicas_GoOn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file bool
		end  syscall.Signal
	}{
		"SQLite, killed": {true, syscall.SIGKILL}, "SQLite, orderly": {true, syscall.SIGTERM},
		"PostgreSQL, killed": {false, syscall.SIGKILL}, "PostgreSQL, orderly": {false, syscall.SIGTERM},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cl := trial{file: c.file, pace: 400 * time.Millisecond}.start(t, "shutdown: {drain: 100ms}\n")
			owner := start(t, cl.command)
			other := owner
			if !c.file {
				other = start(t, cl.command)
			}
			for i, when := range []string{"after the call", "in the call"} {
				id := fmt.Sprintf("w1-%d-1", i)
				word := "book"
				if when == "in the call" {
					word = "book slowly"
				}
				body := fmt.Sprintf(`{"chat_id":%q,"stream":true,"molar":{"events":true,"detach":true},"messages":[{"role":"user","content":"ask %s %s"}]}`, id, id, word)
				res := call(t.Context(), t, http.MethodPost, owner, "/v1/chat/completions", body)
				turn := res.Header.Get("X-Turn-Id")
				follow(scan(res), func(n goNote, text string) bool {
					if when == "in the call" {
						return n.Type != "tool_call"
					}
					return !strings.Contains(text, "say")
				})
				<-time.After(300 * time.Millisecond) // the call has reached its server
				if err := owner.Process().Process.Signal(c.end); err != nil {
					t.Fatal(err)
				}
				owner.Ended()
				if c.file {
					if err := owner.Start(); err != nil {
						t.Fatal(err)
					}
				}
				began := time.Now()
				var kinds []string
				var asked bool
				said := follow(scan(call(t.Context(), t, http.MethodGet, other, "/v1/turns/"+turn+"/events", "")), func(n goNote, _ string) bool {
					if n.Type != "" && n.Type != "step" {
						kinds = append(kinds, n.Type)
					}
					if n.Type == "approval" {
						asked = n.Unsure
						decide := fmt.Sprintf(`{"token":%q,"decision":"refuse"}`, n.Token)
						if res := call(t.Context(), t, http.MethodPost, other, "/v1/approvals/"+n.ID, decide); res.StatusCode != http.StatusOK {
							t.Errorf("decided: %s", res.Status)
							return false
						}
					}
					return n.Type != "done"
				})
				t.Logf("%s: %v after %v: %q", when, kinds, time.Since(began).Round(time.Millisecond), said)
				if !strings.HasSuffix(said, "say "+id+" after none.") || !slices.Contains(kinds, "reset") || asked != (when == "in the call") {
					t.Errorf("%s: %v, %q", when, kinds, said)
				}
				bookings, err := os.ReadFile(cl.bookings)
				if err != nil {
					t.Fatal(err)
				}
				if n := strings.Count(string(bookings), id); n != 1 {
					t.Errorf("%s: booked %d times", when, n)
				}
				var kept struct {
					Messages []struct{ Role, Content, Status string }
				}
				if err := json.NewDecoder(call(t.Context(), t, http.MethodGet, other, "/v1/conversations/"+id, "").Body).Decode(&kept); err != nil {
					t.Fatal(err)
				}
				if len(kept.Messages) != 2 || kept.Messages[1].Status != "" || kept.Messages[1].Content != "say "+id+" after none." {
					t.Errorf("%s: kept %+v", when, kept)
				}
				if !c.file {
					if err := owner.Start(); err != nil {
						t.Fatal(err)
					}
				}
			}
		})
	}
}

// A host that is stopped while its turns only wait for a person ends long before the drain does. A
// detached turn asks again after the restart, and the yes books once; a plain stream ends with an error
// that allows to ask again.
func TestReplicas_GoOnAsking(t *testing.T) {
	t.Parallel()
	c := trial{file: true, policy: "confirm"}.start(t, "shutdown: {drain: 1m}\n")
	host := start(t, c.command)
	plain, _ := asks(t.Context(), t, host, "w1-1-1")
	const id = "w1-1-2"
	body := fmt.Sprintf(`{"chat_id":%q,"stream":true,"molar":{"events":true,"detach":true},"messages":[{"role":"user","content":"ask %s book"}]}`, id, id)
	res := call(t.Context(), t, http.MethodPost, host, "/v1/chat/completions", body)
	turn := res.Header.Get("X-Turn-Id")
	follow(scan(res), func(n goNote, _ string) bool { return n.Type != "approval" })
	began := time.Now()
	if err := host.Process().Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	host.Ended()
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("the host ended after %v", took)
	}
	var rest strings.Builder
	for plain.Scan() {
		rest.WriteString(plain.Text())
	}
	if !strings.Contains(rest.String(), `"code":"shutting_down"`) {
		t.Errorf("the plain stream ended with %s", rest.String())
	}
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	said := follow(scan(call(t.Context(), t, http.MethodGet, host, "/v1/turns/"+turn+"/events", "")), func(n goNote, _ string) bool {
		if n.Type == "approval" {
			res := call(t.Context(), t, http.MethodPost, host, "/v1/approvals/"+n.ID, fmt.Sprintf(`{"token":%q,"decision":"approve"}`, n.Token))
			if res.StatusCode != http.StatusOK && res.StatusCode != http.StatusNotFound { // the process before had asked too
				t.Errorf("decided: %s", res.Status)
			}
		}
		return n.Type != "done"
	})
	bookings, err := os.ReadFile(c.bookings)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(said, "say "+id+" after none.") || strings.Count(string(bookings), id) != 1 || strings.Contains(string(bookings), "w1-1-1") {
		t.Errorf("said %q, booked %q", said, bookings)
	}
}
