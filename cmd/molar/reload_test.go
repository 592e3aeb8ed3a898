package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"molar/internal/config"
	"molar/schemas"
	"molar/web"
)

// reload asks the host to read its file; faults are the reasons of a refusal.
func (s *served) reload(t *testing.T) (done web.Reloaded, faults []string) {
	t.Helper()
	status, body := s.do(t, http.MethodPost, "/v1/servers/reload", "")
	var answer struct {
		web.Reloaded
		Error struct{ Faults []string }
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		t.Fatalf("%d %s: %v", status, body, err)
	}
	if refused := status == http.StatusBadRequest; refused != (len(answer.Error.Faults) > 0) || !refused && status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}
	return answer.Reloaded, answer.Error.Faults
}

// server returns the status of a server, and false if it does not exist.
func (s *served) server(t *testing.T, name string) (schemas.ServerStatus, bool) {
	t.Helper()
	var list struct{ Data []schemas.ServerStatus }
	s.get(t, "/v1/servers", &list)
	for _, status := range list.Data {
		if status.Name == name {
			return status, true
		}
	}
	return schemas.ServerStatus{}, false
}

func (s *served) waitReady(t *testing.T, name string) schemas.ServerStatus {
	t.Helper()
	var status schemas.ServerStatus
	eventually(t, "server "+name, func() bool {
		var found bool
		status, found = s.server(t, name)
		return found && status.State == schemas.StateReady
	})
	return status
}

// save puts a file in the place of the config, as careful editors do.
func save(t *testing.T, config, text string) {
	t.Helper()
	put(t, config+".new", []byte(text))
	if err := os.Rename(config+".new", config); err != nil {
		t.Fatal(err)
	}
}

// A saved file is applied for each server, without touching the others; keys that
// cannot be applied are named.
func TestReload_Applies(t *testing.T) {
	family, before := buildFamily(t), goleak.IgnoreCurrent()
	config := familyConfig(t, family)
	good, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	with := func(servers, more string) string {
		return strings.Replace(string(good), "  family: {command: "+family+"}\n", servers, 1) + more
	}
	s := serveHost(t, config, nil)
	since := s.waitReady(t, "family").Since
	same := "  family: {command: " + family + "}\n"
	tests := []struct {
		name, text string
		want       web.Reloaded
	}{
		{"the same", string(good), web.Reloaded{}},
		{"one more", with(same+"  b: {command: "+family+"}\n", ""), web.Reloaded{Added: []string{"b"}}},
		{
			"another way to reach one, and keys that need a restart",
			with(same+"  b: {command: "+family+", env: {A: b}}\n", "limits: {rounds: 3}\nlisten: 127.0.0.1:1\n"),
			web.Reloaded{Restarted: []string{"b"}, NeedsRestart: []string{"limits.rounds"}}, // the flag beats listen
		},
		{
			"other rules", with("  family: {command: "+family+", excludeTools: [search_family]}\n  b: {command: "+family+", env: {A: b}}\n", ""),
			web.Reloaded{Updated: []string{"family"}},
		},
		{"one less", with(same, ""), web.Reloaded{Removed: []string{"b"}, Updated: []string{"family"}}},
	}
	for _, tt := range tests {
		save(t, config, tt.text)
		done, faults := s.reload(t)
		if diff := cmp.Diff(full(tt.want), done); diff != "" {
			t.Errorf("%s (-want +got):\n%s\n%q", tt.name, diff, faults)
		}
		if now := s.waitReady(t, "family"); !now.Since.Equal(since) {
			t.Fatalf("%s: the server that did not change was touched: %+v", tt.name, now)
		}
	}
	s.stop()
	goleak.VerifyNone(t, before)
}

// full has no nil lists, like the answer over HTTP.
func full(r web.Reloaded) web.Reloaded {
	for _, names := range []*[]string{&r.Added, &r.Removed, &r.Restarted, &r.Updated, &r.NeedsRestart} {
		*names = append([]string{}, *names...)
	}
	return r
}

// Saving the file is enough. A broken file is reported in the log, and the next valid one takes
// effect.
func TestReload_WatchesTheFile(t *testing.T) {
	t.Parallel()
	family := buildFamily(t)
	config := familyConfig(t, family)
	good, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	s := serveHost(t, config, nil)
	s.waitReady(t, "family")
	put(t, config, append(good, "lisen: x\n"...))
	s.stderr.wait(t, "the last good one stays in force", nil)
	if log := s.stderr.String(); !strings.Contains(log, "the file was saved") || !strings.Contains(log, `did you mean \"listen\"?`) {
		t.Errorf("log:\n%s", log)
	}
	put(t, config, bytes.Replace(good, []byte("mcpServers:\n"), []byte("mcpServers:\n  kin: {command: "+family+"}\n"), 1))
	s.waitReady(t, "kin")
}

// A hostSetup is the state of the host that the pages read.
type hostSetup struct {
	Provider, Model, Why, Offer string
	Faults                      []string
	NeedsRestart                []string `json:"needs_restart"`
}

func (s *served) setup(t *testing.T) (now hostSetup) {
	t.Helper()
	s.get(t, "/v1/setup", &now)
	return now
}

// A new file in a new folder takes effect when it is saved. The pages show which assistants may
// call its servers, and its faults until they are fixed.
func TestReload_WatchesForANewFile(t *testing.T) {
	t.Parallel()
	family, env := buildFamily(t), homeEnv(t, nil)
	file := filepath.Join(env["HOME"], ".config", "molar", "molar.yaml")
	s := serveIn(t, env, "")
	if now := s.setup(t); now.Offer != "" || len(now.Faults) > 0 {
		t.Errorf("without a file: %+v", now)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	good := "mcpServers:\n  kin: {command: " + family + "}\n"
	put(t, file, []byte(good))
	s.waitReady(t, "kin")
	eventually(t, "the offer", func() bool { return s.setup(t).Offer == "general" })
	for _, bad := range []struct{ text, says string }{
		{good + "mcpServers:\n  more: {command: " + family + "}\n", file + ":3: not readable as YAML"},
		{good + "lisen: x\n", file + `:3: lisen: unknown key "lisen", did you mean "listen"?`},
	} {
		put(t, file, []byte(bad.text))
		eventually(t, "the fault", func() bool { return strings.Contains(strings.Join(s.setup(t).Faults, "\n"), bad.says) })
	}
	if now := s.setup(t); now.Offer != "general" {
		t.Errorf("a fault took the offer away: %+v", now)
	}
	put(t, file, []byte(good+"limits: {rounds: 3}\n"))
	eventually(t, "the file is mended", func() bool {
		now := s.setup(t)
		return len(now.Faults) == 0 && cmp.Equal(now.NeedsRestart, []string{"limits.rounds"})
	})
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the fault of a file that is gone", func() bool { return strings.Contains(strings.Join(s.setup(t).Faults, "\n"), "bring it back") })
	s.waitReady(t, "kin")
}

// A server's missing variable may be set while the host runs: the file of variables next to the
// config is watched too, even before it exists.
func TestReload_WatchesTheVariables(t *testing.T) {
	t.Parallel()
	config := familyConfig(t, buildFamily(t))
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	const vault = "mcpServers:\n  vault: {command: vault, env: {VAULT_TOKEN: \"${VAULT_TOKEN}\"}}\n"
	put(t, config, bytes.Replace(text, []byte("mcpServers:\n"), []byte(vault), 1))
	s := serveHost(t, config, nil)
	since := s.waitReady(t, "family").Since
	variables := strings.TrimSuffix(config, ".yaml") + ".env"
	if status, _ := s.server(t, "vault"); status.State == schemas.StateReady || !strings.Contains(status.Reason, "put VAULT_TOKEN=… into "+variables) {
		t.Fatalf("%+v", status)
	}
	put(t, variables, []byte("VAULT_TOKEN="+vaultToken+"\n"))
	if err := os.Chmod(variables, 0o644); err != nil {
		t.Fatal(err)
	}
	s.waitReady(t, "vault")
	if now := s.waitReady(t, "family"); !now.Since.Equal(since) {
		t.Errorf("the server that did not change was touched: %+v", now)
	}
	if runtime.GOOS != "windows" {
		s.stderr.wait(t, "chmod 600 "+variables, nil)
	}
	if strings.Contains(s.stderr.String(), vaultToken) {
		t.Errorf("the log shows the token:\n%s", s.stderr)
	}
}

// mutations are saves that went wrong.
func mutations(good string) []func(i int) string {
	return []func(int) string{
		func(int) string { return "" },
		func(i int) string { return strings.Repeat(" \n", i) },
		func(i int) string { return good[:1+i%(len(good)-1)] }, // cut off
		func(i int) string { return fmt.Sprintf("key%d: x\n%s", i, good) },
		func(i int) string { return good + fmt.Sprintf("limits: {rounds: many%d}\n", i) },
		func(int) string { return good + "default: family\n" },
		func(i int) string {
			return good + fmt.Sprintf("search: {duckduckgo: {region: \"${NOT_SET_%d}\"}}\n", i)
		},
		func(i int) string { return strings.Replace(good, "command:", strings.Repeat("[", i+1), 1) },
		func(i int) string { return good + "\x00\xff" + strings.Repeat("\t", i) },
		func(int) string { return good + "# " + strings.Repeat("x", 2<<20) },
		func(int) string { return strings.Replace(good, "{command: ", "{cmd: ", 1) },
		func(int) string { return "- " + good },
	}
}

// However many broken files are saved while the host works: the last valid one stays in force, no
// call fails, and the answer names the fault.
func TestReload_BrokenSavesUnderLoad(t *testing.T) {
	long(t, "a config is saved dozens of times")
	t.Parallel()
	const saves = 36 // each kind some times
	family, model := buildFamily(t), familyModel(t)
	path := familyConfig(t, family)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	good := string(data)
	s := serveHost(t, path, model)
	since := s.waitReady(t, "family").Since
	calls, failed := callAllTheTime(t, s)
	kinds := mutations(good)
	random := rand.New(rand.NewPCG(4, 200))
	for done, i := 0, 0; done < saves; i++ {
		text := kinds[i%len(kinds)](random.IntN(len(good)))
		if !isBroken(t, text) {
			continue // cut off where a shorter file is a good one
		}
		done++
		save(t, path, text)
		if _, faults := s.reload(t); len(faults) == 0 || strings.Contains(strings.Join(faults, ""), "goroutine") {
			t.Fatalf("save %d was taken, or its fault not told: %q\n%.200s", done, faults, text)
		}
		if now, ok := s.server(t, "family"); !ok || now.State != schemas.StateReady || !now.Since.Equal(since) {
			t.Fatalf("save %d touched the server: %+v\n%.200s", done, now, text)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, faults := s.reload(t); len(faults) != 1 {
		t.Errorf("a file that is gone: %q", faults)
	}
	save(t, path, good)
	if done, faults := s.reload(t); len(faults) > 0 || len(done.Added)+len(done.Removed)+len(done.Restarted)+len(done.Updated) > 0 {
		t.Errorf("the good file: %+v, %q", done, faults)
	}
	made, wrong := calls(), failed()
	t.Logf("%d broken saves, %d turns with a tool call, %d failed", saves, made, len(wrong))
	if len(wrong) > 0 || made == 0 {
		t.Errorf("%d calls, failures: %q", made, wrong)
	}
}

// isBroken reports whether a config of this text would be refused.
func isBroken(t *testing.T, text string) bool {
	t.Helper()
	if strings.TrimSpace(text) == "" {
		return true
	}
	path := filepath.Join(t.TempDir(), "molar.yaml")
	put(t, path, []byte(text))
	_, err := config.Load(config.Options{Path: path, Explicit: true, Env: lookup(homeEnv(t, nil))})
	return err != nil
}

// callOnce asks the question whose answer takes one tool call, and says what went
// wrong.
func (s *served) callOnce() error {
	res, err := s.client.Post(s.url+"/v1/chat/completions", "application/json",
		strings.NewReader(questionBody("family", "", familyQuestion, false)))
	if err != nil {
		return err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	var c chunk
	err = json.Unmarshal(body, &c)
	if err != nil || res.StatusCode != http.StatusOK || c.Molar == nil || len(c.Molar.Results) != 1 || c.Molar.Results[0].Result.IsError {
		return fmt.Errorf("%s: %.300s: %w", res.Status, body, err)
	}
	return nil
}

// callAllTheTime lets two clients ask one question after the other, each of which
// calls the tool of the family server. calls ends them and returns their number,
// failed what went wrong.
func callAllTheTime(t *testing.T, s *served) (calls func() int64, failed func() []string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var (
		made    atomic.Int64
		mu      sync.Mutex
		wrong   []string
		clients sync.WaitGroup
	)
	for range 2 {
		clients.Go(func() {
			for ctx.Err() == nil {
				if err := s.callOnce(); err != nil {
					mu.Lock()
					wrong = append(wrong, err.Error())
					mu.Unlock()
				}
				made.Add(1)
			}
		})
	}
	end := func() { cancel(); clients.Wait() }
	t.Cleanup(end)
	return func() int64 { end(); return made.Load() }, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return wrong
	}
}
