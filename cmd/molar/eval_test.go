package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/eval"
	"molar/internal/testkit"
	"molar/internal/testkit/models"
)

// evalRun runs molar in this process, with Ollama at the given address.
func evalRun(t *testing.T, ollama string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	home := t.TempDir()
	env := func(name string) (string, bool) {
		switch name {
		case "HOME":
			return home, true
		case "OLLAMA_BASE_URL":
			return ollama, true
		case "PATH":
			return os.Getenv("PATH"), true
		}
		return "", false
	}
	var out, errs bytes.Buffer
	code = execute(t.Context(), args, env, strings.NewReader(""), &out, &errs)
	return code, out.String(), errs.String()
}

// looksUp is a model that looks up a family at every question, whatever calls the history has.
// With fails it answers with an error after the tool's result.
func looksUp(query string, fails bool) models.Config {
	return models.Config{Script: func(r models.Request) *models.Reply {
		switch last := r.Roles[len(r.Roles)-1]; {
		case fails && last == "tool":
			return &models.Reply{Status: 500, Error: "out of memory", RetryAfterMS: 1}
		case len(r.Tools) > 0 && last == "user":
			return &models.Reply{Calls: []models.Call{{Name: "family__search_family", Args: json.RawMessage(`{"query":"` + query + `"}`)}}}
		}
		return nil
	}}
}

// A recording is a case, its tape and its config, by the names of the files.
var recording = sync.OnceValues(record)

// recordedCase returns a case of two turns that were recorded over a true model wire and a
// real server, both of which have ended. It is recorded once, and each test has a copy.
func recordedCase(t *testing.T) string {
	t.Helper()
	files, err := recording()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range files {
		put(t, filepath.Join(dir, name), text)
	}
	return filepath.Join(dir, "case.yaml")
}

func record() (files map[string][]byte, err error) {
	family, err := testkit.Path(familyServer)
	if err != nil {
		return nil, err
	}
	model := models.New(looksUp("Nguyen", false))
	url, err := model.Start(context.Background(), "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, model.Close()) }()
	dir, err := os.MkdirTemp("", "recording")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	config, file := filepath.Join(dir, "molar.yaml"), filepath.Join(dir, "case.yaml")
	text := "default: family\nassistants:\n  family:\n    system_prompt: You look up families.\n    tools: [\"family__*\"]\nmcpServers:\n  family: {command: " + family + "}\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, err
	}
	var out strings.Builder
	env := map[string]string{"HOME": dir, "PATH": os.Getenv("PATH"), "OLLAMA_BASE_URL": url}
	args := []string{"eval", "record", "--config", config, "--provider", "ollama", "--out", file, "Find the family Nguyen", "And once more, please"}
	if code := execute(context.Background(), args, lookup(env), strings.NewReader(""), &out, &out); code != 0 {
		return nil, fmt.Errorf("record: exit code %d: %s", code, &out)
	}
	files = make(map[string][]byte)
	for _, name := range []string{"molar.yaml", "case.yaml", "case.tape.jsonl"} {
		if files[name], err = os.ReadFile(filepath.Join(dir, name)); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// nowhere is an unreachable address.
const nowhere = "http://127.0.0.1:9"

// reportOf replays a case and returns its report, with the run block apart.
func reportOf(t *testing.T, file string) (code int, rep eval.Report, rest string) {
	t.Helper()
	code, stdout, stderr := evalRun(t, nowhere, "eval", "run", "--quiet", "--json", "-", file)
	if err := json.Unmarshal([]byte(stdout), &rep); err != nil {
		t.Fatalf("exit code %d, no report: %v\n%s", code, err, stderr)
	}
	var parts map[string]json.RawMessage
	if err := json.Unmarshal([]byte(stdout), &parts); err != nil {
		t.Fatal(err)
	}
	run := string(parts["run"])
	return code, rep, strings.Replace(stdout, run, "", 1)
}

// TestEval_replaysTheSame: two replays of a recording over HTTP print the same bytes,
// but for the run block.
func TestEval_replaysTheSame(t *testing.T) {
	t.Parallel()
	file := recordedCase(t)
	code, rep, first := reportOf(t, file)
	if code != 0 || rep.Summary.Pass != 1 {
		t.Fatalf("exit code %d: %+v", code, rep.Cases[0].Why)
	}
	if n := len(rep.Cases[0].Turns); n != 2 || len(rep.Cases[0].Turns[1].Calls) != 1 {
		t.Errorf("turns %+v", rep.Cases[0].Turns)
	}
	cases, err := eval.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	taped, err := cases[0].ReadTape()
	if err != nil {
		t.Fatal(err)
	}
	tokens, calls := 0, 0
	for _, turn := range taped.Turns {
		tokens, calls = tokens+turn.Sum.Usage.TotalTokens, calls+turn.Sum.ModelCalls
	}
	if got := rep.Metrics; got.Tokens != tokens || tokens == 0 || got.ModelCalls != calls {
		t.Errorf("replayed: %d tokens in %d model calls, on the tape %d in %d", got.Tokens, got.ModelCalls, tokens, calls)
	}
	_, _, second := reportOf(t, file)
	if diff := cmp.Diff(first, second); diff != "" {
		t.Error(diff)
	}
}

// TestEval_oneByte changes one byte at a time, in the settings or on the tape: each has
// exactly its own class of drift, and exit code 3.
func TestEval_oneByte(t *testing.T) {
	t.Parallel()
	file := recordedCase(t)
	dir := filepath.Dir(file)
	tape, config := filepath.Join(dir, "case.tape.jsonl"), filepath.Join(dir, "molar.yaml")
	for _, test := range []struct {
		name, file, line, old, new, want string
	}{
		{"system prompt", config, "system_prompt", "families", "famili3s", "system"},
		{"question", file, "user:", "Find", "find", "messages"},
		{"tool description", tape, `"description":"Show a family`, "Show a family", "Show a Family", "tools.description"},
		{"schema", tape, `"inputSchema"`, `"minLength":1`, `"minLength":2`, "tools.schema"},
		{"arguments of the model", tape, `"type":"model_chunk"`, "Nguyen", "Nguyem", "call.args"},
		{"name of the model's call", tape, `"type":"model_chunk"`, "family__search_family", "family__search_familx", "call.name"},
		{"arguments that reached the server", tape, `"method":"tools/call"`, "Nguyen", "Nguyem", "call.args"},
		{"result", tape, `"structuredContent"`, `"name":"Nguyen"`, `"name":"Nguyem"`, "result"},
		{"result, in the part that the host does not read", tape, `"structuredContent"`, `(ID: `, `(Id: `, "result"},
		{"answer", tape, `"type":"answer"`, "tok1", "tok2", "answer"},
		{"model", tape, `"pass":"tool"`, `"temperature":0`, `"temperature":1`, "config"},
		{"model in the settings", config, "default:", "default: family", "default: family\nllm: {ollama: {model: other}}", "config"},
		{"server renamed", config, "command:", "family: {", "kin: {", "config"},
		{"server removed", config, "mcpServers:", "mcpServers:", "x-none:", "config"},
		{"policy", config, "command:", "family: {", "family: {tools: {\"*\": {policy: confirm}}, ", "result"},
		{"assistant renamed", config, "  family:", "family:", "household:", "turn.failed"},
		{"address", tape, `"pass":"tool"`, `"path":"/api/chat"`, `"path":"/api/chats"`, "transport"},
	} {
		t.Run(test.name, func(t *testing.T) {
			whole, err := os.ReadFile(test.file)
			if err != nil {
				t.Fatal(err)
			}
			text := change(t, string(whole), test.line, test.old, test.new)
			if strings.HasPrefix(test.new, "household") {
				text = strings.Replace(text, "default: family", "default: household", 1)
			}
			if test.new == "x-none:" {
				text, _, _ = strings.Cut(text, "x-none:")
			}
			if err := os.WriteFile(test.file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := os.WriteFile(test.file, whole, 0o600); err != nil {
					t.Error(err)
				}
			}()
			code, rep, _ := reportOf(t, file)
			var classes []string
			for _, d := range rep.Cases[0].Drift {
				classes = append(classes, d.Class)
			}
			if !slices.Equal(classes, []string{test.want}) || code != eval.ExitDrift {
				t.Errorf("exit code %d, drift %v, want %s: %s", code, classes, test.want, rep.Cases[0].Why)
			}
		})
	}
}

// change edits the first line that holds both texts.
func change(t *testing.T, text, line, old, with string) string {
	t.Helper()
	lines := strings.SplitAfter(text, "\n")
	for i, l := range lines {
		if strings.Contains(l, line) && strings.Contains(l, old) {
			lines[i] = strings.Replace(l, old, with, 1)
			return strings.Join(lines, "")
		}
	}
	t.Fatalf("no line with %q and %q", line, old)
	return ""
}
