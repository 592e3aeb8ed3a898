//go:build unix

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"molar/internal/testkit"
	"molar/internal/testkit/models"
)

// clientCases are what every client is put through, in the order of the matrix.
func clientCases() []string {
	return []string{
		"whole", "stream", "usage", "serverTool", "clientTool", "mixedTools", "typedError", "faultAfterTool", "faultAfterToolStream", "abort",
	}
}

// A clientHost is the built "molar serve" before a scripted model, with an MCP server
// on standard input and output whose effects are counted in a file.
type clientHost struct {
	url     string
	model   *models.Server
	effects string
}

// serveClients starts a host for the clients. The text of each question decides what the model
// does.
func serveClients(t *testing.T) *clientHost {
	t.Helper()
	h := &clientHost{effects: filepath.Join(t.TempDir(), "effects.txt")}
	h.model = startModel(t, models.Config{Interval: time.Millisecond, Script: clientScript})
	config := writeFile(t, "molar.yaml", fmt.Sprintf(`
default: all
llm: {provider: ollama}
assistants:
  all: {description: x, tools: ["effects__*"]}
mcpServers:
  effects: {command: %q, args: [%q], tools: {"*": {policy: allow}}}
memory: {store: ./molar.db}
`, testkit.Build(t, "molar/internal/testkit/effects"), h.effects))
	p := startProgram(t, homeEnv(t, h.model), "serve", "--listen", "127.0.0.1:0", "--config", config)
	p.stdout.wait(t, "server: effects ready", p.ended)
	_, rest, _ := strings.Cut(p.stdout.String(), "molar listens on ")
	h.url, _, _ = strings.Cut(rest, "\n")
	return h
}

// clientScript answers by the first word of the question.
func clientScript(r models.Request) *models.Reply {
	if isSummary(r) {
		return models.Text("A summary.")
	}
	words := strings.Fields(r.LastUser)
	if len(words) == 0 { // the warm-up
		return nil
	}
	if strings.Contains(r.LastUser, "does not have the form") { // it is asked for JSON again
		if strings.Contains(r.Body, "prose first") {
			return models.Text(`{"n":7}`)
		}
		return models.Text("Sorry, it is 7.")
	}
	answered := slices.Contains(r.Roles, "tool")
	book := models.Call{Name: "effects__book", Args: json.RawMessage(`{"room":"` + words[len(words)-1] + `"}`)}
	forecast := models.Call{Name: "get_weather", Args: json.RawMessage(`{"city":"Hanoi"}`)}
	switch words[0] + map[bool]string{true: " answered"}[answered] {
	case "plain":
		return models.Text("Hello from the model.")
	case "slow":
		return &models.Reply{Tokens: slices.Repeat([]string{"a slow answer\n"}, 20_000)}
	case "json":
		return models.Text(`{"n":7}`)
	case "prose":
		return models.Text(`Sure! Here is your JSON: {"n":7}`)
	case "book", "fault":
		return &models.Reply{Calls: []models.Call{book}}
	case "weather":
		return &models.Reply{Calls: []models.Call{forecast}}
	case "both":
		return &models.Reply{Calls: []models.Call{forecast, book}}
	case "book answered":
		return models.Text("It is booked.")
	case "weather answered":
		return models.Text("It is sunny.")
	case "both answered":
		return models.Text("It is sunny and booked.")
	}
	return &models.Reply{Status: 500, Error: "out of order"} // fault answered
}

// A verdict is one case of one client.
type verdict struct {
	Case string `json:"case"`
	OK   bool   `json:"ok"`
	Note string `json:"note"`
}

// verify checks what a client reported and its effects: no tool ran twice, and the model stopped
// when the client disconnected.
func (h *clientHost) verify(t *testing.T, verdicts []verdict) {
	t.Helper()
	var row strings.Builder
	for _, want := range clientCases() {
		i := slices.IndexFunc(verdicts, func(v verdict) bool { return v.Case == want })
		if i < 0 || !verdicts[i].OK {
			t.Errorf("%s: %+v", want, verdicts)
			row.WriteString(" " + want + "=FAILED")
			continue
		}
		row.WriteString(" " + want + "=ok")
	}
	data, err := os.ReadFile(h.effects)
	if err != nil {
		t.Fatal(err)
	}
	effects := strings.Fields(string(data))
	slices.Sort(effects)
	if want := []string{"faultAfterTool", "faultAfterToolStream", "mixedTools", "serverTool"}; !slices.Equal(effects, want) {
		t.Errorf("the tool ran for %q, want once for each of %q", effects, want)
	}
	eventually(t, "the model call of the client that left is cancelled", func() bool {
		return slices.ContainsFunc(h.model.Requests(), func(r models.Request) bool {
			return strings.HasPrefix(r.LastUser, "slow") && r.Cancelled
		})
	})
	t.Logf("client matrix:%s effects=%d", row.String(), len(effects))
}

// The clients of others, with their defaults and so with their own retries, against
// the built program.
func TestClients_Node(t *testing.T) {
	t.Parallel()
	modules := nodeModules(t)
	for _, name := range []string{"openai", "vercel", "langchain"} {
		t.Run(name, func(t *testing.T) {
			h := serveClients(t)
			verdicts := h.runClient(t, "node", filepath.Join(clientFolder(t, modules), name+".mjs"))
			h.verify(t, verdicts)
			if i := slices.IndexFunc(verdicts, func(v verdict) bool { return v.Case == "parse" }); name != "langchain" && (i < 0 || !verdicts[i].OK) {
				t.Errorf("structured answers: %+v", verdicts)
			}
		})
	}
}

// clientFolder returns a folder with the programs of the clients and a link to the modules that
// they need.
func clientFolder(t *testing.T, modules string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../../internal/testkit/npm/clients")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// The client for Go is part of bench, a separate module. The go command downloads its packages
// where they are missing.
func TestClients_Go(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("no client is built in short tests")
	}
	program := filepath.Join(t.TempDir(), "goclient")
	build := exec.CommandContext(t.Context(), "go", "build", "-C", "../../bench", "-o", program, "./goclient")
	if out, err := build.CombinedOutput(); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("%v\n%s", err, out)
		}
		t.Skipf("the client for Go cannot be built here: %v\n%s", err, out)
	}
	h := serveClients(t)
	h.verify(t, h.runClient(t, program))
}

// runClient runs a client's program and returns the verdicts that it prints.
func (h *clientHost) runClient(t *testing.T, name string, args ...string) []verdict {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "MOLAR_URL=" + h.url}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("%v\n%s", err, stderr.String())
	}
	var verdicts []verdict
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		var v verdict
		if json.Unmarshal(lines.Bytes(), &v) == nil && v.Case != "" {
			verdicts = append(verdicts, v)
		}
	}
	return verdicts
}

// nodeModules is where .ci/npm installs the clients. Without them the test is
// skipped, except in CI, where nothing may be missing.
func nodeModules(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("clients of others are left out of short tests")
	}
	path, err := filepath.Abs("../../.cache/npm/node_modules")
	if err != nil {
		t.Fatal(err)
	}
	_, missing := os.Stat(filepath.Join(path, "openai"))
	if _, err := exec.LookPath("node"); err != nil {
		missing = err
	}
	switch {
	case missing == nil:
	case os.Getenv("CI") != "":
		t.Fatalf("%v: run .ci/npm", missing)
	default:
		t.Skipf("%v: run .ci/npm to test with the clients of others", missing)
	}
	return path
}
