//go:build unix

package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"molar/agent/answer"
	"molar/internal/cli"
	"molar/internal/store"
	"molar/internal/testkit"
	"molar/internal/testkit/models"
	"molar/schemas"
)

// A program is the built molar in a separate process.
type program struct {
	cmd            *exec.Cmd
	stdout, stderr *lines
	ended          chan struct{} // closed once the process has been waited for
}

// startProgram runs the built binary that TestMain put into PATH.
func startProgram(t *testing.T, env map[string]string, args ...string) *program {
	t.Helper()
	p := &program{stdout: newLines(), stderr: newLines(), ended: make(chan struct{})}
	p.cmd = exec.Command("molar", args...)
	p.cmd.Stdout, p.cmd.Stderr = p.stdout, p.stderr
	p.cmd.WaitDelay = patience // a server that stays must not hold the test up
	for name, value := range env {
		p.cmd.Env = append(p.cmd.Env, name+"="+value)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		_ = p.cmd.Wait() // the exit code says it all
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.ended
		if t.Failed() {
			t.Logf("standard error of molar:\n%s", p.stderr)
		}
	})
	return p
}

// interrupt sends SIGINT and returns the exit code, and how long the end took.
func (p *program) interrupt(t *testing.T) (code int, took time.Duration) {
	t.Helper()
	sent := time.Now()
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	return p.wait(t), time.Since(sent)
}

func (p *program) wait(t *testing.T) int {
	t.Helper()
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-p.ended:
		return p.cmd.ProcessState.ExitCode()
	case <-late.C:
		t.Fatalf("molar still runs after %s:\n%s", patience, p.stderr)
		return 0
	}
}

// listening returns the address of a serve that has just started.
func (p *program) listening(t *testing.T) string {
	t.Helper()
	p.stdout.wait(t, "server: tool-server", p.ended)
	_, rest, _ := strings.Cut(p.stdout.String(), "molar listens on ")
	url, _, _ := strings.Cut(rest, "\n")
	return url
}

// pidConfig attaches the family server and one that forks a child, both of which
// leave their process ids in files of the config's folder.
func pidConfig(t *testing.T) (config string) {
	t.Helper()
	dir := t.TempDir()
	config = filepath.Join(dir, "molar.yaml")
	put(t, config, []byte(`
default: plain
llm: {provider: ollama}
assistants:
  plain: {description: x, tools: ["family__*"]}
mcpServers:
  family: {command: sh, args: [-c, "echo $$$$ > `+dir+`/family.pid; exec `+buildFamily(t)+`"]}
  forking: {command: `+testkit.Build(t, "molar/internal/testkit/badmcp")+`, args: [-pid, `+dir+`/forking.pid, -fork, `+dir+`/child.pid]}
memory: {store: ./molar.db}
`))
	return config
}

// processes returns the ids that the servers left.
func processes(t *testing.T, config string) []int {
	t.Helper()
	var pids []int
	for _, name := range []string{"family", "forking", "child"} {
		data, err := os.ReadFile(filepath.Join(filepath.Dir(config), name+".pid"))
		if err != nil {
			t.Fatal(err)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	return pids
}

// alive reports whether a process runs. An ended process that its parent has not waited for (the
// parent has ended, and its heir is slow) has an empty command line.
func alive(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return false
	}
	line, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	return err != nil || len(line) > 0
}

// closedCleanly checks that the servers ended before molar did, that the processes that they
// started end too, and that the database was closed: SQLite removes its log when the last
// connection closes.
func closedCleanly(t *testing.T, config string, pids []int) {
	t.Helper()
	if slices.ContainsFunc(pids[:2], alive) {
		t.Error("molar ended before its servers did")
	}
	eventually(t, "end of all servers", func() bool { return !slices.ContainsFunc(pids, alive) })
	if _, err := os.Stat(filepath.Join(filepath.Dir(config), "molar.db-wal")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the database was not closed: %v", err)
	}
}

// stored reads a conversation from the database of a host that has ended.
func stored(t *testing.T, config, id string) []schemas.StoredMessage {
	t.Helper()
	db, err := store.Open(t.Context(), store.Config{Path: filepath.Join(filepath.Dir(config), "molar.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	messages, _, err := db.Messages(t.Context(), "", id, store.MessageRange{})
	if err != nil {
		t.Fatal(err)
	}
	return messages
}

// slowModel answers with 40 tokens in about a second.
func slowModel(t *testing.T) *models.Server {
	t.Helper()
	return startModel(t, models.Config{Tool: "none", Tokens: 40, LineEvery: 1, Interval: 25 * time.Millisecond})
}

// An interrupt lets the open stream end, then closes servers and database; the next
// start finds everything.
func TestSignal_ServeDrains(t *testing.T) {
	long(t, "whole processes are started and drained")
	t.Parallel()
	model, config := slowModel(t), pidConfig(t)
	env := homeEnv(t, model)
	p := startProgram(t, env, "serve", "--config", config, "--listen", "127.0.0.1:0")
	url := p.listening(t)
	pids := processes(t, config)
	res, body := openStream(t, url, "chat_drain")
	defer res.Body.Close()
	interrupted := make(chan int, 1)
	go func() {
		code := -1
		if p.cmd.Process.Signal(os.Interrupt) == nil {
			<-p.ended
			code = p.cmd.ProcessState.ExitCode()
		}
		interrupted <- code
	}()
	rest, err := io.ReadAll(body)
	if err != nil {
		t.Fatalf("the stream broke: %v", err)
	}
	a := readStream(t, ": began\n\n"+string(rest))
	if a.finish != "stop" || !a.closed || !strings.HasSuffix(strings.TrimSpace(a.text), "tok40") {
		t.Errorf("stream %+v", a)
	}
	if code := <-interrupted; code != cli.OK {
		t.Errorf("exit code %d", code)
	}
	closedCleanly(t, config, pids)
	if m := stored(t, config, "chat_drain"); len(m) != 2 || m[1].Status != "" || !strings.Contains(m[1].Content, "tok40") {
		t.Errorf("stored %+v", m)
	}

	p = startProgram(t, env, "serve", "--config", config, "--listen", "127.0.0.1:0")
	p.listening(t)
	pids = processes(t, config)
	if code, _ := p.interrupt(t); code != cli.OK {
		t.Errorf("exit code of the second start: %d", code)
	}
	closedCleanly(t, config, pids)
}

// openStream asks for a stream and returns once its first text has come.
func openStream(t *testing.T, url, chat string) (*http.Response, *bufio.Reader) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/chat/completions",
		strings.NewReader(questionBody("plain", chat, "Count to forty", true)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	body := bufio.NewReader(res.Body)
	for {
		line, err := body.ReadString('\n')
		if err != nil {
			t.Fatalf("no text came: %v", err)
		}
		if strings.Contains(line, "tok1") {
			_, _ = body.ReadString('\n') // the empty line that ends the event
			return res, body
		}
	}
}

// A further interrupt ends the program at once, whatever it waits for.
func TestSignal_Twice(t *testing.T) {
	long(t, "whole processes are started and drained")
	t.Parallel()
	model := startModel(t, models.Config{Tool: "none", LineEvery: 1, Interval: time.Hour})
	config := familyConfig(t, "no-such-program")
	p := startProgram(t, homeEnv(t, model), "serve", "--config", config, "--listen", "127.0.0.1:0")
	res, _ := openStream(t, p.listening(t), "chat_twice")
	defer res.Body.Close()
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	p.stderr.wait(t, "waiting for open answers", p.ended)
	eventually(t, "end", func() bool {
		_ = p.cmd.Process.Signal(os.Interrupt) // the first may be under way still
		select {
		case <-p.ended:
			return true
		default:
			return false
		}
	})
	if status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || !status.Signaled() {
		t.Errorf("the second interrupt did not end it: %v", p.cmd.ProcessState)
	}
}

// A call of a tool that is interrupted ends with 130 too.
func TestSignal_ToolsCall(t *testing.T) {
	t.Parallel()
	badmcp := testkit.Build(t, "molar/internal/testkit/badmcp")
	config := plainConfig(t, "mcpServers: {bad: {command: "+badmcp+"}}\n")
	p := startProgram(t, homeEnv(t, nil), "tools", "call", "bad__hang", "--config", config, "--trace")
	p.stderr.wait(t, `"tools/call"`, p.ended)
	code, took := p.interrupt(t)
	if code != cli.Interrupted || took > 5*time.Second {
		t.Errorf("exit code %d after %s", code, took)
	}
	if !strings.HasSuffix(p.stderr.String(), "molar: interrupted\n") || p.stdout.String() != "" {
		t.Errorf("standard error:\n%s\nstandard output:\n%s", p.stderr, p.stdout)
	}
}

// An interrupted chat ends with 130 in good time, stores the partial answer as interrupted, and
// leaves no server running.
func TestSignal_Chat(t *testing.T) {
	t.Parallel()
	model, config := slowModel(t), pidConfig(t)
	p := startProgram(t, homeEnv(t, model), "chat", "--config", config, "--conversation", "chat_int", "Count to forty")
	p.stdout.wait(t, "tok3", p.ended)
	pids := processes(t, config)
	code, took := p.interrupt(t)
	if code != cli.Interrupted || took > 2*time.Second {
		t.Errorf("exit code %d after %s", code, took)
	}
	if !strings.HasSuffix(p.stderr.String(), "molar: interrupted\n") {
		t.Errorf("standard error:\n%s", p.stderr)
	}
	closedCleanly(t, config, pids)
	m := stored(t, config, "chat_int")
	if len(m) != 2 || m[1].Status != schemas.StatusInterrupted || !strings.HasPrefix(m[1].Content, "tok1\ntok2\n") {
		t.Errorf("stored %+v", m)
	}
}

// A turn whose process was killed is reported as interrupted, with its stored part.
func TestSignal_KilledTurnIsTold(t *testing.T) {
	long(t, "a whole process is started and killed")
	t.Parallel()
	model := startModel(t, models.Config{Tool: "none", Tokens: 4000, LineEvery: 1, Interval: 20 * time.Millisecond})
	config := plainConfig(t, "")
	p := startProgram(t, homeEnv(t, model), "serve", "--config", config, "--listen", "127.0.0.1:0")
	res, _ := openStream(t, p.listening(t), "chat_killed")
	defer res.Body.Close()
	id := res.Header.Get("X-Turn-Id")
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-p.ended
	s := serveHost(t, config, model)
	var trace answer.Trace
	eventually(t, "the turn runs no more", func() bool {
		s.get(t, "/v1/turns/"+id, &trace)
		return trace.Status != schemas.StatusRunning
	})
	kept := stored(t, config, "chat_killed")
	if trace.Status != schemas.StatusInterrupted || !trace.Untraced || trace.ConversationID != "chat_killed" || trace.Question != kept[0].Content || trace.Answer != kept[1].Content {
		t.Errorf("told %+v, stored %+v", trace, kept)
	}
	code, out, errs := molarCmd(t, "turns", "show", "--config", config, id)
	if want := "nothing of its answer is stored"; code != 0 || !strings.Contains(out, id+", interrupted") || !strings.Contains(out, "question: Count to forty") ||
		trace.Answer == "" && !strings.Contains(out, want) {
		t.Errorf("%d %s%s", code, out, errs)
	}
}
