//go:build linux

package _test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// pending is an approval as a stream announces it.
type pending struct {
	ID    string `json:"id"`
	Token string `json:"token"`
}

// asks begins an ordinary stream whose call needs approval. The scanner continues after it.
func asks(ctx context.Context, t *testing.T, on *Host, name string) (*bufio.Scanner, pending) {
	t.Helper()
	body := fmt.Sprintf(`{"model":"plain","stream":true,"molar":{"events":true},"messages":[{"role":"user","content":"ask %s book"}]}`, name)
	res := call(ctx, t, http.MethodPost, on, "/v1/chat/completions", body)
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c struct {
			Molar struct {
				Type string `json:"type"`
				pending
			} `json:"molar"`
		}
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if ok && json.Unmarshal([]byte(data), &c) == nil && c.Molar.Type == "approval" {
			return lines, c.Molar.pending
		}
	}
	t.Fatal("the stream asked for no approval")
	return nil, pending{}
}

// call sends a request to a host; its body is closed when the test ends.
func call(ctx context.Context, t *testing.T, method string, to *Host, path, body string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, "http://"+to.Addr()+path, bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	req.Host = Name
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	return res
}

// waitingAt counts the pending approvals that a host lists.
func waitingAt(t *testing.T, at *Host) int {
	t.Helper()
	var list struct{ Data []pending }
	if err := json.NewDecoder(call(t.Context(), t, http.MethodGet, at, "/v1/approvals", "").Body).Decode(&list); err != nil {
		t.Fatal(err)
	}
	return len(list.Data)
}

// A person behind a balancer decides at any replica, also about a stream that only its own client
// reads. What a killed replica asked is listed no longer.
func TestReplicas_ApproveElsewhere(t *testing.T) {
	t.Parallel()
	c := trial{policy: "confirm"}.start(t, "")
	hosts := make([]*Host, 2)
	for i := range hosts {
		hosts[i] = NewHost(c.command)
		if err := hosts[i].Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = hosts[i].Kill() })
	}
	lines, ask := asks(t.Context(), t, hosts[0], "w1-1-1")
	if n := waitingAt(t, hosts[1]); n != 1 {
		t.Errorf("%d approvals are listed at the other replica", n)
	}
	decide := func(want int) {
		t.Helper()
		body := fmt.Sprintf(`{"token":%q,"decision":"approve"}`, ask.Token)
		if res := call(t.Context(), t, http.MethodPost, hosts[1], "/v1/approvals/"+ask.ID, body); res.StatusCode != want {
			t.Errorf("the decision got %s, want %d", res.Status, want)
		}
	}
	decide(http.StatusOK)
	var rest strings.Builder
	for lines.Scan() {
		rest.WriteString(lines.Text())
	}
	if booked, err := os.ReadFile(c.bookings); err != nil || strings.Count(string(booked), "w1-1-1") != 1 || !strings.Contains(rest.String(), "[DONE]") {
		t.Errorf("booked %q, %v; the stream ended with %s", booked, err, rest.String())
	}
	decide(http.StatusNotFound)

	asks(t.Context(), t, hosts[0], "w1-1-2")
	if n := waitingAt(t, hosts[1]); n != 1 {
		t.Errorf("%d approvals are listed at the other replica", n)
	}
	if err := hosts[0].Kill(); err != nil {
		t.Fatal(err)
	}
	for late := time.Now().Add(15 * time.Second); waitingAt(t, hosts[1]) > 0; <-time.After(200 * time.Millisecond) {
		if time.Now().After(late) {
			t.Fatal("the approval of a killed replica is still listed")
		}
	}
}
