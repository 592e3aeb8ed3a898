//go:build linux

package replicas_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"molar/internal/store/storetest"
	"molar/internal/testkit/fakemodel"
	"molar/internal/testkit/replicas"
)

// words is how far the model counts, and with it how long a detached turn runs.
const words = 60

// build builds a program, with the flags of go build, if any.
func build(t *testing.T, what string, flags ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), filepath.Base(what))
	out, err := exec.CommandContext(t.Context(), "go", append(append([]string{"build", "-o", path}, flags...), what)...).CombinedOutput()
	if err != nil {
		t.Fatalf("build %s: %v\n%s", what, err, out)
	}
	return path
}

// script is the model's part.
func script(r fakemodel.Request) *fakemodel.Reply {
	at := strings.LastIndex(r.LastUser, "ask ")
	switch {
	case strings.Contains(r.Body, "Summarise the exchange") || strings.Contains(r.Body, "Summarise the last exchange"), strings.Contains(r.Body, "Name the conversation below"):
		return fakemodel.Text("They spoke.")
	case at < 0:
		counted := make([]string, words)
		for i := range counted {
			counted[i] = fmt.Sprintf("w%d", i+1)
		}
		return fakemodel.Text(strings.Join(counted, " "))
	}
	id, rest, _ := strings.Cut(r.LastUser[at+len("ask "):], " ")
	if strings.HasPrefix(rest, "book") && r.Roles[len(r.Roles)-1] != "tool" {
		return &fakemodel.Reply{Calls: []fakemodel.Call{{Name: "effects__book", Args: json.RawMessage(fmt.Sprintf(`{"room":%q}`, id))}}}
	}
	return fakemodel.Text("say " + id)
}

// run harms a cluster of hosts built with these flags.
func run(t *testing.T, harms []replicas.Harm, flags ...string) replicas.Report {
	t.Helper()
	dsn := storetest.StartPostgres(t).Database(t)
	model := fakemodel.New(fakemodel.Config{Keep: 1, Script: script, FirstToken: 400 * time.Millisecond, Interval: 50 * time.Millisecond})
	url, err := model.Start(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = model.Close() })
	home := t.TempDir()
	config, bookings := filepath.Join(home, "molar.yaml"), filepath.Join(home, "bookings")
	text := fmt.Sprintf(`
default: plain
allowed_hosts: [%s]
llm: {provider: ollama, ollama: {base_url: %q}}
memory: {store: %q, required: true}
assistants: {plain: {system_prompt: Answer., tools: ["effects__*"]}}
mcpServers: {effects: {command: %q, args: [%q], tools: {"*": {policy: allow}}}}
shutdown: {drain: 20s}
telemetry: {log_level: warn, trace: off}
`, replicas.Name, url, dsn, build(t, "molar/internal/testkit/effects"), bookings)
	for file, text := range map[string]string{config: text, bookings: ""} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	molar := build(t, "molar/cmd/molar", flags...)
	report, err := replicas.Run(t.Context(), replicas.Config{
		Command: func() *exec.Cmd {
			cmd := exec.Command(molar, "serve", "--listen", "127.0.0.1:0", "--config", config)
			cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
			cmd.Stderr = os.Stderr
			return cmd
		},
		Replicas: 3, Writers: 16, Harms: harms, Bookings: bookings, Words: words, Seed: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%v: %d turns done, %d ended after their tool, in %d requests; %d turns followed, %d of them interrupted; told after a kill within %v",
		report.Harms, report.Done, report.Failed, report.Tries, report.Followed, report.Interrupts, report.Told)
	return report
}

// Three replicas are killed, frozen, cut and restarted while clients ask under keys, book
// rooms and follow detached turns. What was reported done is there once, no room is booked
// twice, and every follower is told how its turn ended.
func TestReplicas(t *testing.T) {
	harms := []replicas.Harm{replicas.Kill, replicas.Cut, replicas.Freeze, replicas.Restart, replicas.Blink, replicas.Kill}
	if n, err := strconv.Atoi(os.Getenv("MOLAR_REPLICAS_CYCLES")); err == nil {
		most := []replicas.Harm{replicas.Kill, replicas.Cut, replicas.Blink, replicas.Kill, replicas.Restart, replicas.Kill, replicas.Blink, replicas.Cut, replicas.Kill, replicas.Freeze}
		for harms = nil; len(harms) < n; {
			harms = append(harms, most[len(harms)%len(most)])
		}
	}
	report := run(t, harms)
	for _, fault := range report.Faults {
		t.Error(fault)
	}
	if report.Done == 0 || report.Followed == 0 {
		t.Errorf("nothing was asked: %+v", report)
	}
}
