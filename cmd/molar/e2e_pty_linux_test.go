package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"molar/internal/cli"
	"molar/internal/testkit"
	"molar/internal/testkit/models"
	"molar/internal/testkit/npm"
	"molar/schemas"
)

// A typist sits at a terminal on which molar runs.
type typist struct {
	t      *testing.T
	cmd    *exec.Cmd
	master *os.File
	screen *lines // all that was written to the terminal, with its control sequences
	ended  chan struct{}
}

// sitDown begins a session at a terminal.
func sitDown(t *testing.T, env map[string]string, args ...string) *typist {
	t.Helper()
	p := sitAt(t, env, args...)
	p.see("> ")
	return p
}

// sitAt starts molar at a terminal.
func sitAt(t *testing.T, env map[string]string, args ...string) *typist {
	t.Helper()
	return sitBefore(t, env, exec.Command("molar", args...))
}

// sitBefore starts a program at a terminal.
func sitBefore(t *testing.T, env map[string]string, cmd *exec.Cmd) *typist {
	t.Helper()
	p := &typist{t: t, screen: newLines(), ended: make(chan struct{}), cmd: cmd}
	p.cmd.Env = []string{"TERM=xterm-256color"}
	for name, value := range env {
		p.cmd.Env = append(p.cmd.Env, name+"="+value)
	}
	var err error
	if p.master, err = testkit.Start(p.cmd, 100, 40); err != nil {
		t.Skipf("no terminal can be had here: %v", err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		buf := make([]byte, 32<<10)
		for {
			n, err := p.master.Read(buf)
			_, _ = p.screen.Write(buf[:n])
			if err != nil { // EIO once the program has ended
				return
			}
		}
	}()
	go func() {
		defer close(p.ended)
		_ = p.cmd.Wait() // the exit code says it all
		<-read
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.ended
		_ = p.master.Close()
		if t.Failed() {
			t.Logf("the terminal:\n%q", p.screen)
		}
	})
	return p
}

func (p *typist) keys(text string) {
	p.t.Helper()
	if _, err := p.master.WriteString(text); err != nil {
		p.t.Fatal(err)
	}
}

// see waits until the text was written, and returns all that was.
func (p *typist) see(text string) string {
	p.t.Helper()
	return p.screen.wait(p.t, text, p.ended)
}

// seeAfter waits for a text after an earlier text on the screen.
func (p *typist) seeAfter(before, text string) {
	p.t.Helper()
	eventually(p.t, text, func() bool { return strings.Contains(p.screen.String()[len(before):], text) })
}

func (p *typist) exit(code int) {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.t.Fatalf("molar still runs")
	}
	if got := p.cmd.ProcessState.ExitCode(); got != code {
		p.t.Errorf("exit code %d, want %d", got, code)
	}
}

// plainConfig is an assistant without topic over a scripted model.
func plainConfig(t *testing.T, servers string) string {
	t.Helper()
	return writeFile(t, "molar.yaml", `
default: plain
llm: {provider: ollama}
assistants:
  plain: {description: x, tools: ["*__*"]}
memory: {store: ./molar.db}
`+servers)
}

// TestSession_Interrupt: Ctrl-C stops the answer, not the session, and the partial answer is
// stored. The test logs how long that takes.
func TestSession_Interrupt(t *testing.T) {
	model := startModel(t, models.Config{Tool: "none", Tokens: 4000, LineEvery: 5, Interval: 10 * time.Millisecond})
	config := plainConfig(t, "")
	p := sitDown(t, homeEnv(t, model), "chat", "--config", config, "--conversation", "chat_typed")
	p.keys("Count\r")
	p.see("tok20\r\n")
	before := p.screen.String()
	pressed := time.Now()
	p.keys("\x03")
	p.seeAfter(before, "stopped; what ")                // was answered is kept, or what of it is stored where that takes long
	p.seeAfter(before, "\r\x1b[2C")                     // the prompt, with the cursor behind its mark
	t.Logf("Ctrl-C to prompt: %s", time.Since(pressed)) // the limit is 100 ms on a machine with nothing else to do
	eventually(t, "the model is told", func() bool {
		return slices.ContainsFunc(model.Requests(), func(r models.Request) bool { return r.Cancelled })
	})
	p.keys("\x04")
	p.exit(cli.OK)
	m := stored(t, config, "chat_typed")
	if len(m) != 2 || m[1].Status != schemas.StatusInterrupted || !strings.HasPrefix(m[1].Content, "tok1 tok2 ") {
		t.Errorf("stored %+v", m)
	}
}

// TestSession_Approves: once, edited, in this conversation, always, and no; nothing runs before
// the answer.
func TestSession_Approves(t *testing.T) {
	long(t, "a person types, with pauses")
	t.Parallel()
	model := startModel(t, models.Config{Tool: "echo", Args: json.RawMessage(`{"text":"first"}`), Tokens: 3})
	bad := testkit.Build(t, "molar/internal/testkit/badmcp")
	// What the other server says of itself may be an order, until somebody confirms it.
	config := plainConfig(t, "mcpServers: {bad: {command: "+bad+"}, other: {command: "+bad+", excludeTools: [echo]}}\n")
	p := sitDown(t, homeEnv(t, model), "chat", "--config", config)
	for _, step := range []struct{ keys, want string }{
		{"n\r", "the person said no"},
		{"o\r", `"first"`},
		{"e\r\x15{\"text\":\"second\"}\r", `second`},
		{"c\r", "allowed in this conversation: bad__echo"}, // which ends with the next /clear
		{"a\r", "allowed always: bad__echo"},
	} {
		before := p.screen.String()
		p.keys("/clear\rEcho something\r") // a model that has seen a result calls nothing
		p.seeAfter(before, "[o]nce")
		if strings.Contains(p.screen.String()[len(before):], "✓") {
			t.Fatal("the call ran before it was approved")
		}
		asked := p.screen.String()
		p.keys(step.keys)
		p.seeAfter(asked, step.want)
		p.seeAfter(asked, "[ollama")
	}
	before := p.screen.String()
	p.keys("/clear\rEcho something\r") // a model that has seen a result calls nothing
	p.seeAfter(before, "[ollama")
	if strings.Contains(p.screen.String()[len(before):], "[o]nce") {
		t.Error("asked again after always")
	}
	p.keys("/approvals clear\r")
	p.see("bad__echo with text first asks again (always)")
	before = p.screen.String()
	p.keys("/clear\rEcho something\r")
	p.seeAfter(before, "Asked because")
	p.keys("and a later question") // typed while the answer comes
	p.seeAfter(before, "[o]nce")
	asked := p.screen.String()
	p.keys("n\r")
	p.seeAfter(asked, "refused")
	p.seeAfter(asked, "[ollama")
	p.seeAfter(asked, "> and a later question")
	p.keys("\x15/quit\r")
	p.exit(cli.OK)
}

// TestSession_Lines: several lines by backslash and by paste, history, and a paste that
// holds control sequences.
func TestSession_Lines(t *testing.T) {
	t.Parallel()
	model := startModel(t, models.Config{Tool: "none", Tokens: 2})
	env := homeEnv(t, model)
	p := sitDown(t, env, "chat", "--config", plainConfig(t, ""))
	asks := func(keys, want string) {
		t.Helper()
		n, before := len(asked(model)), p.screen.String()
		p.keys(keys)
		eventually(t, "a question", func() bool { return len(asked(model)) > n })
		if got := asked(model)[n].LastUser; !strings.HasSuffix(got, want) {
			t.Errorf("asked %q, want %q", got, want)
		}
		p.seeAfter(before, "[ollama")
	}
	asks("one\\\rtwo\r", "one\ntwo")
	asks("\x1b[200~pasted\rlines\x1b]52;c;aGk=\x07\x1b[201~\r", "pasted\nlines")
	asks("\x1b[A\x1b[A\x1b[A\x7fO\r", "one\ntwO")
	p.keys("/he\t\r")
	p.see("put a resource")
	p.keys("\x04")
	p.exit(cli.OK)
	path := filepath.Join(env["HOME"], ".local", "share", "molar", "history")
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("history: %v, %v", info, err)
	}
}

// TestSession_HostileText: nothing that a tool or a model says drives the terminal.
func TestSession_HostileText(t *testing.T) {
	t.Parallel()
	const evil = "\x1b]52;c;aGk=\x07\x1b[2Jx\u009b31m\u202eabc"
	args, _ := json.Marshal(map[string]string{"text": evil})
	model := startModel(t, models.Config{Script: func(r models.Request) *models.Reply {
		if r.Pass == models.PassText {
			return models.Text("Model says " + evil + " end")
		}
		return nil
	}, Tool: "echo", Args: args})
	config := plainConfig(t, "mcpServers: {bad: {command: "+testkit.Build(t, "molar/internal/testkit/badmcp")+", tools: {\"*\": {policy: allow}}}}\n")
	p := sitDown(t, homeEnv(t, model), "chat", "--config", config)
	p.keys("Echo\r")
	p.see("[ollama")
	p.keys("\x04")
	p.exit(cli.OK)
	for _, bad := range []string{"\x1b]52", "\x1b[2J", "\u009b", "\u202e"} {
		if strings.Contains(p.screen.String(), bad) {
			t.Errorf("%q reached the terminal", bad)
		}
	}
	if !strings.Contains(p.screen.String(), "Model says [2Jxabc end") {
		t.Error("the answer is missing")
	}
}

// TestSession_Resource: "@server:uri" puts a resource into the question, and a word
// that names no server does not.
func TestSession_Resource(t *testing.T) {
	t.Parallel()
	model := startModel(t, models.Config{Tool: "none", Tokens: 2})
	p := sitDown(t, homeEnv(t, model), "chat", "--config", plainConfig(t, ""), "--conversation", "chat_r")
	p.keys("My brush is blue\r")
	p.see("[ollama")
	before := p.screen.String()
	p.keys("What is in @memory-server:memory://conversation/chat_r, tell me@home @nobody:x\r")
	p.seeAfter(before, "[ollama")
	last := asked(model)[1]
	if !strings.Contains(last.LastUser, `source=\"memory-server\"`) && !strings.Contains(last.LastUser, `source="memory-server"`) || !strings.Contains(last.LastUser, "My brush is blue") {
		t.Errorf("asked %q", last.LastUser)
	}
	before = p.screen.String()
	p.keys("@memory-server:memory://conversation/none\r")
	p.seeAfter(before, "the question was not asked")
	before = p.screen.String()
	p.keys("@mem\t")
	p.seeAfter(before, "@memory-server:")
	p.keys("\x15/nothing\r")
	p.see("there is no command /nothing")
	p.keys("/etc/passwd is a path\r")
	eventually(t, "a question", func() bool { return len(asked(model)) == 3 })
	p.see("[ollama")
	p.keys("\x04\x04")
	p.exit(cli.OK)
}

// TestSession_Completes: Tab completes a template of a server's resources, and the arguments of
// its prompts, which the server proposes for the preceding text.
func TestSession_Completes(t *testing.T) {
	long(t, "starts a server under node")
	t.Parallel()
	script := npm.Installed(t, "npm", "node_modules", "@modelcontextprotocol", "server-everything", "dist", "index.js")
	model := startModel(t, models.Config{Tool: "none", Tokens: 2})
	p := sitDown(t, homeEnv(t, model), "chat", "--config", plainConfig(t, "mcpServers: {all: {command: node, args: ["+script+"]}}\n"))
	p.keys("Hello\r")
	p.see("[ollama")
	for _, c := range []struct{ typed, sees string }{
		{"@all:demo://resource/dynamic/t\t", "@all:demo://resource/dynamic/text/"},
		{"\x15/completable-prompt Eng\t", "/completable-prompt Engineering"},
		{"\x15/completable-prompt Sales E\t", "/completable-prompt Sales Eve"},
		{"\x15/completable-prompt department=Sup\t", "department=Support"},
	} {
		before := p.screen.String()
		p.keys(c.typed)
		p.seeAfter(before, c.sees)
	}
	before := p.screen.String()
	p.keys("\x15What is in @all:demo://resource/dynamic/text/7\t?\r")
	p.seeAfter(before, "[ollama")
	if last := asked(model)[1].LastUser; !strings.Contains(last, "Resource 7") {
		t.Errorf("asked %q", last)
	}
	p.keys("\x04\x04")
	p.exit(cli.OK)
}

// TestSession_Progress: the progress of a tool is shown while it runs, and removed when it ends.
func TestSession_Progress(t *testing.T) {
	long(t, "a person waits for a slow tool")
	t.Parallel()
	model := startModel(t, models.Config{Tool: "progress", Tokens: 2})
	config := plainConfig(t, "mcpServers: {bad: {command: "+testkit.Build(t, "molar/internal/testkit/badmcp")+", tools: {\"*\": {policy: allow}}}}\n")
	p := sitDown(t, homeEnv(t, model), "chat", "--config", config)
	p.keys("Go\r")
	p.see("Ctrl-C stops: bad__progress: ")
	p.see("[ollama")
	p.keys("/tools\r")
	p.see("bad__echo")
	p.keys("/servers\r")
	p.see("bad ready (stdio)")
	p.keys("/assistant nobody\r")
	p.see(`there is no assistant "nobody"`)
	p.keys("/model\r")
	p.see("qwen2.5:3b-instruct")
	p.keys("/model qwen2.5:3b-instruct\r")
	n := len(asked(model))
	p.keys("/retry\r")
	eventually(t, "the question again", func() bool { return len(asked(model)) > n })
	if got := asked(model)[n]; got.Model != "qwen2.5:3b-instruct" {
		t.Errorf("asked %s", got.Model)
	}
	file := filepath.Join(t.TempDir(), "saved.md")
	p.keys("/save " + file + "\r")
	p.see("saved 2 messages") // asked again, the first answer is in a branch beside
	p.keys("/save " + file + "\r")
	p.see("exists; choose another name")
	p.keys("/clear\r/history\r")
	p.see("nothing has been said")
	p.keys("/quit\r")
	p.exit(cli.OK)
	if data, err := os.ReadFile(file); err != nil || !strings.Contains(string(data), "## You\n\nGo\n\n## Answer\n\ntok1 tok2") {
		t.Errorf("%q, %v", data, err)
	}
}

// TestSession_Question: a server asks the person in the middle of a call, in a session and at
// the terminal of one question.
func TestSession_Question(t *testing.T) {
	long(t, "a person answers a server")
	t.Parallel()
	model := startModel(t, models.Config{Tool: "wonder", Tokens: 2})
	config := plainConfig(t, "mcpServers: {bad: {command: "+testkit.Build(t, "molar/internal/testkit/badmcp")+", tools: {\"*\": {policy: allow}}}}\n")
	env := homeEnv(t, model)
	p := sitDown(t, env, "chat", "--config", config)
	p.keys("Go\r")
	p.see("bad asks: When?")
	p.see("answer it? [y/N]")
	p.keys("y\r")
	p.see("day, one of Monday, Friday")
	p.keys("Sunday\r")
	p.see("this does not fit")
	p.keys("Friday\r")
	p.see("  answered")
	p.see(`"action":"accept","content":{"day":"Friday"}`)
	p.see("[ollama")
	p.keys("/quit\r")
	p.exit(cli.OK)

	once := sitAt(t, env, "chat", "--config", config, "--output-format", "stream-json", "Go")
	once.see("answer it? [y/N]")
	once.keys("n\r")
	once.see("decline")
	once.see(`"type":"done"`)
	once.exit(cli.OK)
}

// TestSession_NoColour: NO_COLOR leaves the styles out, and TERM=dumb the session.
func TestSession_NoColour(t *testing.T) {
	t.Parallel()
	model := startModel(t, models.Config{Script: func(models.Request) *models.Reply { return models.Text("**bold**") }})
	env := homeEnv(t, model)
	env["NO_COLOR"] = "1"
	p := sitDown(t, env, "chat", "--config", plainConfig(t, ""))
	p.keys("Go\r")
	p.see("[ollama")
	p.keys("\x04")
	p.exit(cli.OK)
	if strings.Contains(p.screen.String(), "\x1b[1m") || !strings.Contains(p.screen.String(), "bold") {
		t.Error("styles in spite of NO_COLOR")
	}
}

// TestChat_AtTerminal: one question asks for approval there too, and styles its answer;
// Ctrl-C ends it with 130.
func TestChat_AtTerminal(t *testing.T) {
	t.Parallel()
	badmcp := testkit.Build(t, "molar/internal/testkit/badmcp")
	config := plainConfig(t, "mcpServers: {bad: {command: "+badmcp+", tools: {'*': {policy: confirm}}}}\n")
	model := startModel(t, models.Config{Tool: "echo", Args: json.RawMessage(`{"text":"first"}`), Script: func(r models.Request) *models.Reply {
		if r.Pass == models.PassText {
			return models.Text("A **bold** word")
		}
		return nil
	}})
	p := sitAt(t, homeEnv(t, model), "chat", "--config", config, "Echo")
	p.see("[o]nce, [e]dit the arguments, [n]o?")
	p.keys("e\n")
	p.see("arguments: ")
	p.keys("{\"text\":\n")
	p.see("these do not fit")
	p.keys("o\n")
	p.see("\x1b[1mbold")
	p.exit(cli.OK)

	p = sitAt(t, homeEnv(t, model), "chat", "--config", config, "Echo")
	p.see("[n]o?")
	p.keys("\x03")
	p.exit(cli.Interrupted)

	env := homeEnv(t, model)
	env["TERM"] = "dumb"
	p = sitAt(t, env, "chat", "--config", config)
	p.see(`TERM is "dumb"`)
	p.exit(cli.Misuse)
}

// A person at a terminal is asked before a trial of a model that costs.
func TestDoctorLive_AtTerminal(t *testing.T) {
	t.Parallel()
	model := startModel(t, models.Config{Models: []string{"big:cloud"}, Script: weatherman(false)})
	file := writeFile(t, "molar.yaml", "llm: {provider: ollama, ollama: {model: 'big:cloud', small_model: 'big:cloud'}}\n")
	for answer, want := range map[string]struct {
		code int
		text string
	}{
		"\r":  {cli.Failure, "nothing was asked"},
		"y\r": {cli.OK, "usable for tools"},
	} {
		p := sitAt(t, homeEnv(t, model), "doctor", "--live", "--max-prompt", "2048", "--config", file)
		p.see("[y/N]")
		p.keys(answer)
		p.see(want.text)
		p.exit(want.code)
	}
}

// The person at the terminal chooses among the proposed checks, and is asked again after a slip.
func TestPTY_evalRecordChoosesChecks(t *testing.T) {
	t.Parallel()
	config := plainConfig(t, "mcpServers: {bad: {command: "+testkit.Build(t, "molar/internal/testkit/badmcp")+"}}\n")
	model := startModel(t, models.Config{Tool: "echo", Args: json.RawMessage(`{"text":"| AB-2024 | Nguyen Van A | 1970-01-01 |"}`), Script: func(r models.Request) *models.Reply {
		if r.Pass == models.PassText {
			return models.Text("AB-2024: Nguyen Van A, born 1970-01-01")
		}
		return nil
	}})
	for _, test := range []struct {
		keys string
		want []string
	}{{"5\n1,3-3\n", []string{"AB-2024", "1970-01-01"}}, {"none\n", nil}, {"all\n", []string{"AB-2024", "Nguyen Van A", "1970-01-01"}}, {"\x04", nil}} {
		file := filepath.Join(t.TempDir(), "case.yaml")
		p := sitAt(t, homeEnv(t, model), "eval", "record", "--config", config, "--provider", "ollama", "--out", file, "Which one?")
		p.see("such as 1,3-4)? ")
		p.keys(test.keys)
		p.exit(cli.OK)
		if strings.HasPrefix(test.keys, "5") {
			p.see("numbers from 1 to 3")
		}
		text := readText(t, file)
		for _, check := range []string{"AB-2024", "Nguyen Van A", "1970-01-01"} {
			_, checks, _ := strings.Cut(text, "answer:")
			if strings.Contains(checks, check) != slices.Contains(test.want, check) {
				t.Errorf("%q: %s", test.keys, text)
			}
		}
		if strings.Contains(text, "# answer") {
			t.Errorf("%q: there are comments: %s", test.keys, text)
		}
	}
}
