//go:build linux

package _test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// lastRelease names the program of the release before this one.
const lastRelease = "MOLAR_LAST_RELEASE"

// before returns the command of the release before this one, with the same arguments.
func (c *cluster) before(t *testing.T) func() *exec.Cmd {
	t.Helper()
	program := os.Getenv(lastRelease)
	if program == "" {
		t.Skip(lastRelease + " is not set: .ci/run sets it to the program of the last release, where the history has its commit")
	}
	return func() *exec.Cmd {
		cmd := c.command()
		cmd.Path, cmd.Args[0] = program, program
		return cmd
	}
}

// says asks in one conversation, with a key of that name, and returns the answer, which must be saved.
func says(t *testing.T, h *Host, name string) string {
	t.Helper()
	body := fmt.Sprintf(`{"chat_id":"c1-1","messages":[{"role":"user","content":"ask %s plain"}]}`, name)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+h.Addr()+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Host = Name
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", name)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var a struct {
		Choices []struct{ Message struct{ Content string } }
		Molar   struct{ Saved bool }
	}
	if err := json.NewDecoder(res.Body).Decode(&a); err != nil || res.StatusCode != http.StatusOK || len(a.Choices) != 1 || !a.Molar.Saved {
		t.Fatalf("%s: %s, %+v, %v", name, res.Status, a, err)
	}
	return a.Choices[0].Message.Content
}

// start starts a host until the test ends.
func start(t *testing.T, command func() *exec.Cmd) *Host {
	t.Helper()
	h := NewHost(command)
	if err := h.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Kill() })
	return h
}

// Replicas of the release before go on while and after this version migrates their database, each
// turn sees those of the other, and a key is repeated by whichever gets it. A restarted one refuses
// the newer schema. The steps are those of docs/operations.md.
func TestReplicas_Upgrade(t *testing.T) {
	t.Parallel()
	c := trial{}.start(t, "")
	before := c.before(t)
	old := start(t, before)
	last := "none"
	ask := func(h *Host, name string) {
		t.Helper()
		want := fmt.Sprintf("say %s after %s.", name, last)
		if got := says(t, h, name); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		last = name
	}
	ask(old, "w1-1-1")
	migrate := c.command()
	migrate.Args = append([]string{migrate.Args[0], "migrate"}, migrate.Args[len(migrate.Args)-2:]...)
	if out, err := migrate.Output(); err != nil || !strings.Contains(string(out), "it was ") {
		t.Fatalf("molar migrate: %q, %v", out, err)
	}
	ask(old, "w1-1-2")
	now := start(t, c.command)
	for n := 3; n < 9; n += 2 {
		ask(now, fmt.Sprintf("w1-1-%d", n))
		ask(old, fmt.Sprintf("w1-1-%d", n+1))
	}
	for _, h := range []*Host{old, now} {
		for name, want := range map[string]string{"w1-1-2": "say w1-1-2 after w1-1-1.", "w1-1-3": "say w1-1-3 after w1-1-2."} {
			if got := says(t, h, name); got != want {
				t.Errorf("the key of %s repeats %q, want %q", name, got, want)
			}
		}
	}
	if err := NewHost(before).Start(); err == nil {
		t.Error("the release before starts on a schema that it does not know")
	}
}

// A SQLite file of the release before goes on with this one.
func TestUpgrade_File(t *testing.T) {
	t.Parallel()
	c := trial{file: true}.start(t, "")
	old := start(t, c.before(t))
	says(t, old, "w1-1-1")
	if err := old.Kill(); err != nil {
		t.Fatal(err)
	}
	refusing := c.command()
	refusing.Args = append(refusing.Args, "--no-migrate")
	refusing.Stderr = nil
	if out, err := refusing.CombinedOutput(); err == nil || !strings.Contains(string(out), "molar migrate") {
		t.Errorf("serve --no-migrate on an old schema: %q, %v", out, err)
	}
	now := start(t, c.command)
	for name, want := range map[string]string{"w1-1-1": "say w1-1-1 after none.", "w1-1-2": "say w1-1-2 after w1-1-1."} {
		if got := says(t, now, name); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
