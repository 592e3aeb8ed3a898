//go:build unix

package mcpclients_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"molar/mcpclients"
	"molar/mcpclients/transport"
	"molar/schemas"
)

func TestStdio_RealServer(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	m := start(t, servers(transport.ServerConfig{Name: "good", Command: self, Env: map[string]string{serveVar: "1"}}))

	st := status(t, m)
	if st.State != schemas.StateReady || st.Protocol != "2025-11-25" || st.Version != "2.0.0" || st.Tools != 3 {
		t.Fatalf("status %+v", st)
	}
	tool, ok := m.Catalogue().Lookup("good__weather")
	if !ok || tool.ToolName != "weather" || tool.Annotations.ReadOnlyHint == nil || !*tool.Annotations.ReadOnlyHint {
		t.Errorf("lookup: %v %+v", ok, tool)
	}
	for _, tc := range []struct{ tool, args, want string }{
		{"add", `{"a":2,"b":3}`, `"5"`},
		{"add", ``, `"0"`},
		{"add", `null`, `"0"`},
		{"weather", "{\n}", `{"celsius":31,"city":"Huế"}`},
	} {
		result, err := m.Call(t.Context(), "good", tc.tool, json.RawMessage(tc.args))
		if err != nil {
			t.Fatal(err)
		}
		if string(result.Output) != tc.want || result.Server != "good" || result.ToolName != tc.tool || result.IsError {
			t.Errorf("%s(%s): %+v with output %s", tc.tool, tc.args, result, result.Output)
		}
	}
	t.Run("a call ends with its context", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if _, err := m.Call(ctx, "good", "sleep", nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}

func TestStdio_StartFailures(t *testing.T) {
	for _, tc := range []struct {
		name   string
		server transport.ServerConfig
		want   []string
	}{
		{"exits with a message", bad("db", "-exit"), []string{"exit status 3", "cannot open the database", "mcpServers.db"}},
		{"never answers", bad("mute", "-mute"), []string{"initialize was not answered within 300ms"}},
		{"answers garbage", bad("noisy", "-garbage"), []string{"Welcome to the server!"}},
		{"speaks another version", bad("old", "-version=2023-01-01"), []string{"2023-01-01", "update"}},
		{"repeats a cursor", bad("loop", "-cursor"), []string{"repeats the page cursor"}},
		{
			"no such command",
			transport.ServerConfig{Name: "x", Command: "no-such-command"},
			[]string{`command "no-such-command" not found: install it or correct mcpServers.x.command`},
		},
		{"no such directory", transport.ServerConfig{Name: "x", Command: badServer, Dir: "/no/such/dir"}, []string{"mcpServers.x.cwd"}},
		{"not executable", transport.ServerConfig{Name: "x", Command: "./main_test.go"}, []string{"may not be run"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.server.StartTimeout = 300 * time.Millisecond
			m := start(t, servers(tc.server, bad("fine")))
			var st, fine schemas.ServerStatus
			for _, s := range m.Status() {
				if s.Name == "fine" {
					fine = s
				} else {
					st = s
				}
			}
			if st.State != schemas.StateFailed {
				t.Errorf("state %s", st.State)
			}
			for _, want := range tc.want {
				if !strings.Contains(st.Reason, want) {
					t.Errorf("reason %q lacks %q", st.Reason, want)
				}
			}
			if fine.State != schemas.StateReady {
				t.Errorf("the neighbour is %s: %s", fine.State, fine.Reason)
			}
			if tc.name == "exits with a message" {
				if diff := cmp.Diff([]string{"starting up", "cannot open the database: no such file"}, st.Stderr); diff != "" {
					t.Errorf("stderr (-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestStdio_Calls(t *testing.T) {
	noisy := bad("s", "-noise")
	noisy.Timeout = 20 * time.Second
	m := start(t, servers(noisy))
	for _, tc := range []struct{ tool, args, want string }{
		{"echo", `{"big":9007199254740993}`, `{"big":9007199254740993}`},
		{"other_id", ``, `"late"`},
		{"flood", ``, `"flooded"`},
		{"odd", ``, `"[content of the unknown kind \"hologram\" was left out]\nplain"`},
		{"ask", ``, `"{\"jsonrpc\":\"2.0\",\"id\":\"q1\",\"result\":{}}\n{\"jsonrpc\":\"2.0\",\"id\":\"q2\",\"error\":{\"code\":-32601,\"message\":\"the client does not serve this method\"}}\n"`},
	} {
		result, err := m.Call(t.Context(), "s", tc.tool, json.RawMessage(tc.args))
		if err != nil {
			t.Fatal(err)
		}
		if string(result.Output) != tc.want || result.IsError {
			t.Errorf("%s: output %s, isError %v", tc.tool, result.Output, result.IsError)
		}
	}
	for _, tc := range []struct{ tool, want string }{
		{"fail", `"no such city"`},
		{"refuse", `"The server answered with error -32602: unknown tool"`},
		{"deep", `"The server answered with error -32603: the answer is no JSON that can be read: invalid character '[' exceeded max depth"`},
		{"broken", `"The server answered with error -32603: the answer is no JSON that can be read: invalid character 'i' after object key:value pair"`},
		{"huge", `"The server answered with error -32603: the answer is longer than 16 MiB and was dropped: ask for less"`},
		{"huge_last", `"The server answered with error -32603: the answer is longer than 16 MiB and was dropped: ask for less"`},
	} {
		if testing.Short() && strings.HasPrefix(tc.tool, "huge") { // tens of megabytes, read in the goroutine that reads the others
			continue
		}
		result, err := m.Call(t.Context(), "s", tc.tool, nil)
		if err != nil {
			t.Error(err)
			continue
		}
		if string(result.Output) != tc.want || !result.IsError {
			t.Errorf("%s: output %.200s, isError %v", tc.tool, result.Output, result.IsError)
		}
	}
	if result, err := m.Call(t.Context(), "s", "log", nil); err != nil || string(result.Output) != `"done"` {
		t.Errorf("a log line was taken for the answer: %s, %v", result.Output, err)
	}
	began := time.Now()
	if _, err := m.Call(t.Context(), "s", "mumble", nil); !errors.Is(err, transport.ErrLost) || !strings.Contains(err.Error(), "names no request") {
		t.Errorf("a line without end of sense: %v", err)
	}
	if took := time.Since(began); took > 20*time.Second { // the limit of the call is 60 s
		t.Errorf("it was known only after %s", took)
	}
	if _, err := m.Call(t.Context(), "s", "echo", json.RawMessage(`[1]`)); err == nil || !strings.Contains(err.Error(), "not a JSON object") {
		t.Errorf("arguments that are no object: %v", err)
	}
	if _, err := m.Call(t.Context(), "nobody", "echo", nil); !errors.Is(err, transport.ErrUnknownServer) {
		t.Errorf("unknown server: %v", err)
	}
}

func TestStdio_AHugeLineCostsLittleMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("the memory that it measures is that of a run without the race detector")
	}
	m := start(t, servers(bad("s")))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 3 {
		if _, err := m.Call(t.Context(), "s", "huge", nil); err != nil {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	grown := int64(after.HeapSys) - int64(before.HeapSys)
	t.Logf("three lines of 20 MiB: heap grown by %d KiB, %d KiB allocated", grown>>10, (after.TotalAlloc-before.TotalAlloc)>>10)
	if grown > 80<<20 { // buffers that double up to the longest message, of the three lines at worst
		t.Errorf("the heap grew by %d MiB", grown>>20)
	}
}

func TestStdio_EnvironmentIsAllowListed(t *testing.T) {
	t.Setenv("GOOGLE_API_KEY", "hidden")
	t.Setenv("SOME_SECRET", "hidden")
	t.Setenv("LC_ALL", "C")
	server := bad("s")
	server.Env = map[string]string{"GIVEN": "yes"}
	m := start(t, servers(server))
	result, err := m.Call(t.Context(), "s", "env", nil)
	if err != nil {
		t.Fatal(err)
	}
	names := strings.Split(result.OutputText(), "\n")
	for name, want := range map[string]bool{"GIVEN": true, "PATH": true, "LC_ALL": true, "GOOGLE_API_KEY": false, "SOME_SECRET": false} {
		if got := slices.Contains(names, name); got != want {
			t.Errorf("%s passed on: %v, want %v", name, got, want)
		}
	}
}

func TestStdio_DeadlineOfACall(t *testing.T) {
	server := bad("s")
	server.Timeout = 80 * time.Millisecond
	m := start(t, servers(server))
	_, err := m.Call(t.Context(), "s", "hang", nil)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{`"s"`, `"hang"`, "80ms", "mcpServers.s.timeout"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q lacks %q", err, want)
		}
	}
	waitFor(t, "the server was told", func() bool {
		stderr := status(t, m).Stderr
		return slices.Contains(stderr, "cancelled")
	})
}

func TestStdio_DeafServerCannotBlockCallers(t *testing.T) {
	t.Parallel()
	server := bad("s")
	server.Timeout = 100 * time.Millisecond
	m := start(t, servers(server))
	if _, err := m.Call(t.Context(), "s", "deaf", nil); err != nil {
		t.Fatal(err)
	}
	big, err := json.Marshal(map[string]string{"text": strings.Repeat("x", 300<<10)})
	if err != nil {
		t.Fatal(err)
	}
	for range 30 { // more than the pipe and the queue can buffer
		began := time.Now()
		if _, err := m.Call(t.Context(), "s", "echo", big); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("got %v", err)
		}
		if took := time.Since(began); took > 20*time.Second { // a blocked one would hang for an hour
			t.Errorf("the call returned after %s", took)
		}
	}
}

func TestStdio_DeathInMidCall(t *testing.T) {
	m := start(t, servers(bad("s")))
	hung := make(chan error, 1)
	go func() {
		_, err := m.Call(t.Context(), "s", "hang", nil)
		hung <- err
	}()
	waitFor(t, "the other call is under way", func() bool { return slices.Contains(status(t, m).Stderr, "hanging") })
	_, err := m.Call(t.Context(), "s", "die", nil)
	if !errors.Is(err, transport.ErrLost) {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{`"s"`, `"die"`, "exit status 7", "check before repeating"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q lacks %q", err, want)
		}
	}
	select {
	case err := <-hung:
		if !errors.Is(err, transport.ErrLost) {
			t.Errorf("the other call: %v", err)
		}
	case <-time.After(5 * time.Second):
		t.Error("the other call still hangs")
	}
	t.Run("the next call brings the server back", func(t *testing.T) {
		began := time.Now()
		result, err := m.Call(t.Context(), "s", "echo", json.RawMessage(`{"a":1}`))
		if err != nil || string(result.Output) != `{"a":1}` {
			t.Fatalf("%s, %v", result.Output, err)
		}
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("it took %s", took)
		}
		if st := status(t, m); st.State != schemas.StateReady || st.Tools == 0 {
			t.Errorf("status %+v", st)
		}
	})
}

func TestStdio_GrandchildHoldingThePipes(t *testing.T) {
	pidFile := filepath.Join(t.TempDir(), "pid")
	m := start(t, servers(bad("s", "-fork="+pidFile)))
	pid := readPID(t, pidFile)
	began := time.Now()
	if _, err := m.Call(t.Context(), "s", "die", nil); !errors.Is(err, transport.ErrLost) {
		t.Fatalf("got %v", err)
	}
	if took := time.Since(began); took > 20*time.Second { // the grandchild lives for a minute
		t.Errorf("the call failed only after %s", took)
	}
	waitFor(t, "the grandchild is gone", func() bool { return !alive(pid) })
}

// A process that the server started ends when the host closes the manager.
func TestStdio_GrandchildEndsWithTheHost(t *testing.T) {
	pidFile := filepath.Join(t.TempDir(), "pid")
	m := start(t, servers(bad("s", "-fork="+pidFile)))
	pid := readPID(t, pidFile)
	if !alive(pid) {
		t.Fatal("there is no grandchild")
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the grandchild is gone", func() bool { return !alive(pid) })
}

// readPID waits until the file contains a process id.
func readPID(t *testing.T, file string) int {
	t.Helper()
	pid := 0
	waitFor(t, "a pid is written", func() bool {
		raw, _ := os.ReadFile(file)
		n, err := strconv.Atoi(string(raw))
		pid = n
		return err == nil
	})
	return pid
}

func TestStdio_ChildDiesWithItsHost(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux signals the death of a parent")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	pidFile := filepath.Join(t.TempDir(), "pid")
	host := exec.Command(self, "-ignore", "-pid="+pidFile)
	host.Env = append(os.Environ(), hostVar+"="+badServer)
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	pid := readPID(t, pidFile)
	if !alive(pid) {
		t.Error("the server is not running")
	}
	if err := host.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = host.Wait() // it was killed
	waitFor(t, "the server is gone", func() bool { return !alive(pid) })
}

// alive reports whether a process runs; a process that ended but was not reaped by its new parent
// does not count.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return !os.IsNotExist(err)
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z")
}

func TestStdio_CloseEndsAStubbornProcess(t *testing.T) {
	t.Parallel()
	m, err := mcpclients.New(servers(bad("s", "-ignore")))
	if err != nil {
		t.Fatal(err)
	}
	m.Start(t.Context())
	if err := m.Wait(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 20*time.Second { // it would run for an hour
		t.Errorf("close took %s", took)
	}
	if _, err := m.Call(t.Context(), "s", "echo", nil); !errors.Is(err, transport.ErrUnavailable) {
		t.Errorf("call after close: %v", err)
	}
}
