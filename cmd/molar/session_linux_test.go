package main

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"molar/internal/cli"
	"molar/internal/testkit"
	"molar/internal/testkit/models"
)

// resize gives the terminal another size.
func (p *typist) resize(columns, rows uint16) {
	p.t.Helper()
	raw, err := p.master.SyscallConn()
	if err != nil {
		p.t.Fatal(err)
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		failed = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: columns})
	})
	if err != nil || failed != nil {
		p.t.Fatal(err, failed)
	}
}

// TestSession_Resize: a new window size is noticed without a key press, and the next output fits
// it.
func TestSession_Resize(t *testing.T) {
	t.Parallel()
	model := startModel(t, models.Config{Tool: "none", Tokens: 2})
	p := sitDown(t, homeEnv(t, model), "chat", "--config", plainConfig(t, ""))
	p.keys("a question of more than forty characters, not yet asked")
	p.see("yet asked")
	before := p.screen.String()
	p.resize(40, 20)
	p.seeAfter(before, "\r\x1b[J> a question of more than forty charact\r\ners, not yet asked")
	p.keys("\x15/help\r")
	p.see("  /model [NAME]\r\n      show or choose the model\r\n")
	p.keys("\x04")
	p.exit(cli.OK)
}

// TestSession_Search: Ctrl-R finds a question of an earlier session, and Enter asks it.
func TestSession_Search(t *testing.T) {
	t.Parallel()
	model := startModel(t, models.Config{Tool: "none", Tokens: 2})
	env, config := homeEnv(t, model), plainConfig(t, "")
	p := sitDown(t, env, "chat", "--config", config)
	p.keys("Which brush?\rAnother thing\r\x04")
	p.exit(cli.OK)
	p = sitDown(t, env, "chat", "--config", config)
	n := len(asked(model))
	p.keys("\x12brush")
	p.see(`search "brush": Which brush?`)
	p.keys("\r")
	eventually(t, "a question", func() bool { return len(asked(model)) > n })
	if got := asked(model)[n].LastUser; !strings.HasSuffix(got, "Which brush?") {
		t.Errorf("asked %q", got)
	}
	p.see("[ollama")
	p.keys("\x04")
	p.exit(cli.OK)
}

// TestSession_GoesBack: Ctrl-C leaves the current prompt, not the session.
func TestSession_GoesBack(t *testing.T) {
	long(t, "a person types, with pauses")
	t.Parallel()
	model := startModel(t, models.Config{Tool: "echo", Args: json.RawMessage(`{"text":"first"}`), Tokens: 3})
	config := plainConfig(t, "mcpServers: {bad: {command: "+testkit.Build(t, "molar/internal/testkit/badmcp")+", tools: {'*': {policy: confirm}}}}\n")
	p := sitDown(t, homeEnv(t, model), "chat", "--config", config)
	p.keys("Echo something\r")
	p.see("[o]nce")
	p.keys("e\r")
	p.see(`arguments> {"text":"first"}`)
	before := p.screen.String()
	p.keys("\x03")
	p.seeAfter(before, "[o]nce")
	p.keys("o\r")
	p.see("[ollama")
	p.keys("/resume\r")
	p.see("number, or Enter")
	before = p.screen.String()
	p.keys("\x03")
	p.seeAfter(before, "\r\x1b[2C")
	p.keys("\x04")
	p.see("--resume chat_")
	p.exit(cli.OK)
}

// TestSession_WarnsOnce: that a server's tools are missing is said once, not under every answer.
func TestSession_WarnsOnce(t *testing.T) {
	t.Parallel()
	model := startModel(t, models.Config{Tool: "none", Tokens: 2})
	p := sitDown(t, homeEnv(t, model), "chat", "--config", plainConfig(t, "mcpServers: {gone: {command: /there/is/none}}\n"))
	for _, question := range []string{"First", "Second", "Third"} {
		before := p.screen.String()
		p.keys(question + "\r")
		p.seeAfter(before, "[ollama")
	}
	p.keys("\x04")
	p.exit(cli.OK)
	if n := strings.Count(p.screen.String(), "/there/is/none"); n == 0 || n > 1 {
		t.Errorf("the server that is not there is named %d times:\n%s", n, p.screen.String())
	}
}

// TestSession_WaitsForServer: a turn that waits for a server says for which, and Ctrl-C
// ends the wait.
func TestSession_WaitsForServer(t *testing.T) {
	t.Parallel()
	model := startModel(t, models.Config{Tool: "none", Tokens: 2})
	config := plainConfig(t, "mcpServers: {mute: {command: sh, args: [-c, 'cat >/dev/null']}}\n")
	p := sitDown(t, homeEnv(t, model), "chat", "--config", config)
	p.keys("Hello\r")
	p.see("Ctrl-C stops: waiting for servers: mute")
	before := p.screen.String()
	p.keys("\x03")
	p.seeAfter(before, "stopped")
	p.seeAfter(before, "\r\x1b[2C")
	p.keys("\x04")
	p.exit(cli.OK)
}

// TestChat_WaitsForPipe: a person at a terminal is told that chat waits for a silent pipe, and the
// late text of the pipe is context.
func TestChat_WaitsForPipe(t *testing.T) {
	long(t, "a silent pipe is waited for, for five seconds")
	t.Parallel()
	model := startModel(t, models.Config{Tool: "none", Tokens: 2})
	p := sitBefore(t, homeEnv(t, model), exec.Command("sh", "-c", `cat | molar chat --config "$1" "Summarise this"`, "sh", plainConfig(t, "")))
	p.see("waiting for the pipe")
	p.keys("a late line\n\x04")
	p.see("tok2")
	p.exit(cli.OK)
	if got := asked(model)[0].LastUser; !strings.Contains(got, "a late line") {
		t.Errorf("asked %q", got)
	}
}

// TestSession_Habits: the session shows at once which model answers and which server failed, in three
// lines. A slash shows a menu, a misspelt command gets a suggestion, and Esc stops the answer.
func TestSession_Habits(t *testing.T) {
	t.Parallel()
	model := startModel(t, models.Config{Tool: "none", Tokens: 4000, LineEvery: 5, Interval: 10 * time.Millisecond})
	p := sitDown(t, homeEnv(t, model), "chat", "--config", plainConfig(t, "mcpServers: {gone: {command: no-such-program-here}}\n"))
	p.see("assistant plain")
	p.see("model ")
	p.see("server gone failed")
	p.keys("/")
	p.see("/help       this list")
	p.keys("toolz\r")
	p.see("do you mean")
	p.keys("Count\r")
	p.see("tok20\r\n")
	before := p.screen.String()
	p.keys("\x1b")
	p.seeAfter(before, "stopped; what ") // was answered is kept, or what of it is stored where that takes long
	p.keys("\x04")
	p.exit(cli.OK)
}

// TestSession_LogIsApart: neither the host's log nor what a server writes to its standard error stands
// between an answer or over the prompt; /log shows both.
func TestSession_LogIsApart(t *testing.T) {
	long(t, "a dead service is asked again, with waits")
	t.Parallel()
	gemini, _ := dead(t)
	model := startModel(t, models.Config{Tool: "none", Tokens: 40, Interval: 20 * time.Millisecond})
	env := homeEnv(t, model)
	env["GEMINI_API_KEY"] = geminiKey
	config := writeFile(t, "molar.yaml", `
default: plain
llm: {gemini: {base_url: "`+gemini+`"}}
assistants:
  plain: {description: x, tools: ["*__*"]}
memory: {store: ./molar.db}
mcpServers:
  loud: {command: `+testkit.Build(t, "molar/internal/testkit/badmcp")+`, args: [-pour, stderr, -every, 20ms]}
`)
	p := sitDown(t, env, "chat", "--config", config)
	p.see(" tools") // ready at the beginning, or soon after
	before := p.screen.String()
	p.keys("Count\r")
	p.seeAfter(before, "[ollama")
	shown := p.screen.String()
	// That another model answers is said in a notice, so that the log is not pointed to.
	for _, log := range []string{"level=", "xxxxx", "/log"} {
		if strings.Contains(shown, log) {
			t.Errorf("%q stands in the session", log)
		}
	}
	if !strings.Contains(shown, "! warning: \x1b[0mollama answers instead") || !strings.Contains(strings.ReplaceAll(shown, "\r\n", " "), "tok39 tok40 ") {
		t.Errorf("the answer, or who gave it, is not whole")
	}
	p.keys("/copy\r")
	p.see("\x1b]52;c;dG9rMSB0b2sy") // "tok1 tok2", encoded
	p.keys("/log\r")
	p.see("another provider is asked")
	p.see("loud:\x1b[0m\r\n\x1b[2m  xxxxx")
	p.keys("\x04")
	p.exit(cli.OK)
}
