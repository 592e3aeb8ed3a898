//go:build linux

package _test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"molar/internal/store/storetest"
	"molar/internal/testkit"
	"molar/internal/testkit/models"
)

// words is how far the model counts, which determines how long a detached turn runs.
const words = 60

// script is the model's script.
func script(r models.Request) *models.Reply {
	at := strings.LastIndex(r.LastUser, "ask ")
	switch {
	case strings.Contains(r.Body, "Summarise the exchange") || strings.Contains(r.Body, "Summarise the last exchange"), strings.Contains(r.Body, "Name the conversation below"):
		return models.Text("They spoke.")
	case at < 0:
		return models.Text(counted())
	}
	id, rest, _ := strings.Cut(r.LastUser[at+len("ask "):], " ")
	if strings.HasPrefix(rest, "book") && r.Roles[len(r.Roles)-1] != "tool" {
		if !slices.Contains(r.Tools, "effects__book") { // the host has not attached the server yet
			return models.Text("nothing to book " + id + " with")
		}
		return &models.Reply{Calls: []models.Call{{Name: "effects__book", Args: json.RawMessage(fmt.Sprintf(`{"room":%q,"slowly":%v}`, id, strings.HasPrefix(rest, "book slowly")))}}}
	}
	before := "none"
	if said := answered().FindAllStringSubmatch(r.Body, -1); len(said) > 0 {
		before = said[len(said)-1][1]
	}
	said := "say " + id + " after " + before + "."
	if _, since, _ := cutLast(r.Body, "ask "+id+" book"); strings.Contains(since, "may or may not have been done") {
		said = unsure + said
	}
	return models.Text(said)
}

// cutLast is [strings.Cut] around the last occurrence.
func cutLast(s, separator string) (before, after string, found bool) {
	i := strings.LastIndex(s, separator)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(separator):], true
}

// unsure begins the answer to a booking of which nobody knows whether it was made.
const unsure = "unsure: "

func answered() *regexp.Regexp { return regexp.MustCompile(`say (w\d+-\d+-\d+) after [^ ."]+\.`) }

// counted returns the model's answer to all other requests.
func counted() string {
	all := make([]string, words)
	for i := range all {
		all[i] = fmt.Sprintf("w%d", i+1)
	}
	return strings.Join(all, " ")
}

// trial is one run of the checker.
type trial struct {
	harms []Harm
	// without disables a protection; pooled puts PgBouncer in front of PostgreSQL.
	without Protection
	pooled  bool
	// pace is the time between two words of the model; 0 means 50 ms.
	pace time.Duration
	// policy is that of the tools; empty means allow.
	policy string
	// file stores in a SQLite file instead, for one host at a time.
	file bool
}

// cluster is the environment that the hosts of a trial share.
type cluster struct {
	postgres *storetest.Postgres
	bookings string
	wire     *Wire
	command  func() *exec.Cmd
}

func (tr trial) start(t *testing.T, settings string) *cluster {
	t.Helper()
	c := &cluster{postgres: storetest.StartPostgres(t)}
	dsn := c.postgres.Database(t)
	if tr.pooled {
		dsn = c.postgres.Pooled(t, dsn)
	}
	if tr.without != nil {
		var err error
		if c.wire, err = Without(t.Context(), tr.without, c.postgres.Addr()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.wire.Close)
		dsn = strings.Replace(dsn, c.postgres.Addr(), c.wire.Addr(), 1)
	}
	model := models.New(models.Config{Keep: 1, Script: script, FirstToken: 400 * time.Millisecond, Interval: cmp.Or(tr.pace, 50*time.Millisecond)})
	url, err := model.Start(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = model.Close() })
	home := t.TempDir()
	if tr.file {
		dsn = filepath.Join(home, "molar.db")
	}
	config := filepath.Join(home, "molar.yaml")
	c.bookings = filepath.Join(home, "bookings")
	text := fmt.Sprintf(`
default: plain
allowed_hosts: [%s]
llm: {provider: ollama, ollama: {base_url: %q}}
memory: {store: %q, required: true, context: 2000}
assistants: {plain: {system_prompt: Answer., tools: ["effects__*"]}}
mcpServers: {effects: {command: %q, args: [%q], tools: {"*": {policy: %s}}}}
telemetry: {log_level: warn, trace: off}
%s`, Name, url, dsn, testkit.Build(t, "molar/internal/testkit/effects"), c.bookings, cmp.Or(tr.policy, "allow"), settings)
	for file, text := range map[string]string{config: text, c.bookings: ""} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	molar := testkit.Build(t, "molar/cmd/molar")
	c.command = func() *exec.Cmd {
		cmd := exec.Command(molar, "serve", "--listen", "127.0.0.1:0", "--config", config)
		cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
		cmd.Stderr = os.Stderr
		return cmd
	}
	return c
}

// run runs the trial's harms on a cluster of hosts.
func (tr trial) run(t *testing.T) Report {
	t.Helper()
	c := tr.start(t, "shutdown: {drain: 20s}\n")
	report, err := Run(t.Context(), Config{
		Command: c.command, Replicas: 3, Writers: 16, Harms: tr.harms, Bookings: c.bookings, Words: words, Seed: uint64(len(tr.harms)),
		Database: func() error {
			c.postgres.Stop(t)
			time.Sleep(time.Second)
			c.postgres.Start(t)
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if c.wire != nil && c.wire.Changed() == 0 {
		t.Fatal("no statement was changed: the protection stands in other words by now")
	}
	t.Logf("%v: %d turns done, %d of them unsure, %d ended after their tool %v, in %d requests; %d turns followed, %d of them interrupted; told of a host that was gone within %v",
		report.Harms, report.Done, report.Unsure, report.Failed, report.Codes, report.Tries, report.Followed, report.Interrupts, report.Told)
	if report.Done == 0 || report.Followed == 0 {
		t.Errorf("nothing was asked: %+v", report)
	}
	return report
}

// cyclesVariable is set by "make long".
const cyclesVariable = "MOLAR_REPLICAS_CYCLES"

// inLongRuns skips a test that takes minutes, except in long runs.
func inLongRuns(t *testing.T) {
	t.Helper()
	if os.Getenv(cyclesVariable) == "" {
		t.Skip(cyclesVariable + ` is not set: "make long" sets it, for what takes minutes`)
	}
}

// long repeats harms for as many cycles as the variable specifies.
func long(harms ...Harm) []Harm {
	n, err := strconv.Atoi(os.Getenv(cyclesVariable))
	if err != nil {
		return harms
	}
	var all []Harm
	for len(all) < n {
		all = append(all, harms[len(all)%len(harms)])
	}
	return all
}

// Three replicas are killed, frozen, disconnected and restarted while clients ask with keys, book
// rooms and follow detached turns. A turn that was reported done is there once, no room is booked
// twice, a turn sees all turns that were done before it, and every follower gets the end of its
// turn.
func TestReplicas(t *testing.T) {
	t.Parallel()
	report := trial{harms: long(Kill, Cut, Freeze, Restart, Blink, Kill)}.run(t)
	for _, fault := range report.Faults {
		t.Error(fault)
	}
	if os.Getenv(cyclesVariable) != "" && report.Told > maxTold {
		t.Errorf("a follower was told after %v", report.Told)
	}
}

// The same while PostgreSQL itself is stopped and started.
func TestReplicas_Outage(t *testing.T) {
	inLongRuns(t)
	report := trial{harms: long(Outage, Kill, Outage)}.run(t)
	for _, fault := range report.Faults {
		t.Error(fault)
	}
}

// The same with a pooler, through which no replica receives notifications of another one.
func TestReplicas_Pooled(t *testing.T) {
	t.Parallel()
	report := trial{pooled: true, harms: long(Kill, Cut)}.run(t)
	for _, fault := range report.Faults {
		t.Error(fault)
	}
}

// The checker finds the faults that the fence and the queue prevent.
func TestReplicas_Without(t *testing.T) {
	inLongRuns(t)
	for name, tr := range map[string]trial{
		"fence": {without: Fence(), harms: []Harm{Freeze, Freeze, Freeze}},
		"queue": {without: Queue(), harms: []Harm{Peace, Peace, Peace}},
	} {
		t.Run(name, func(t *testing.T) {
			report := tr.run(t)
			if len(report.Faults) == 0 {
				t.Error("no fault was found")
			}
			for i, fault := range report.Faults {
				if i < 10 {
					t.Log(fault)
				}
			}
			t.Logf("%d faults", len(report.Faults))
		})
	}
}
