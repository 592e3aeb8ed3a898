package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"molar/eval"
	"molar/internal/store"
	"molar/internal/testkit/models"
)

// A markedHost is a folder with a config, a store and a model that knows an answer once the
// system prompt says how to find it.
type markedHost struct {
	t                *testing.T
	home, dir, model string
}

const (
	badPrompt  = "You look up families."
	goodPrompt = "You look up families with the tools."
)

func newMarkedHost(t *testing.T, more string) *markedHost {
	t.Helper()
	model := models.New(models.Config{Script: func(r models.Request) *models.Reply {
		switch last := r.Roles[len(r.Roles)-1]; {
		case len(r.Tools) == 0 && r.Pass == models.PassText:
			return models.Text("Sugar feeds bacteria on the teeth, and their acid makes cavities.")
		case len(r.Tools) == 0:
			return nil
		case !strings.Contains(r.Body, goodPrompt):
			return &models.Reply{Tokens: []string{"I do not know", " of any family, ", "Lê Thị", " Bình."}}
		case last == "user":
			return &models.Reply{Calls: []models.Call{{Name: "family__search_family", Args: json.RawMessage(`{"query":"Nguyen"}`)}}}
		}
		return &models.Reply{Tokens: []string{"The family Nguyen", " is here."}}
	}})
	url, err := model.Start(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = model.Close() })
	h := &markedHost{t: t, home: t.TempDir(), dir: t.TempDir(), model: url}
	h.prompt(badPrompt, more)
	return h
}

// prompt writes the config with a system prompt.
func (h *markedHost) prompt(prompt, more string) {
	h.t.Helper()
	config := "listen: 127.0.0.1:9\ndefault: family\n" + more + "llm: {provider: ollama}\nassistants:\n  family: {system_prompt: " + prompt + ", tools: [\"family__*\"]}\nmcpServers:\n  family: {command: " + buildFamily(h.t) + "}\n"
	if err := os.WriteFile(filepath.Join(h.dir, "molar.yaml"), []byte(config), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

// run runs a command with the config, and fails the test unless it ends with the code.
func (h *markedHost) run(code int, args ...string) (stdout, stderr string) {
	h.t.Helper()
	env := func(name string) (string, bool) {
		v, ok := map[string]string{"HOME": h.home, "PATH": os.Getenv("PATH"), "OLLAMA_BASE_URL": h.model}[name]
		return v, ok
	}
	var out, errs bytes.Buffer
	args = append(args, "--config", filepath.Join(h.dir, "molar.yaml"))
	if got := execute(h.t.Context(), args, env, strings.NewReader(""), &out, &errs); got != code {
		h.t.Fatalf("molar %s: exit code %d, want %d:\n%s%s", strings.Join(args, " "), got, code, &out, &errs)
	}
	return out.String(), errs.String()
}

// ask returns the id of an answered turn.
func (h *markedHost) ask(args ...string) string {
	h.t.Helper()
	return h.asked(0, args...)
}

// asked returns the id of a turn that ends with a code.
func (h *markedHost) asked(code int, args ...string) string {
	h.t.Helper()
	out, _ := h.run(code, append([]string{"chat", "--output-format", "json"}, args...)...)
	var answer struct {
		ID string `json:"turn_id"`
	}
	if err := json.Unmarshal([]byte(out), &answer); err != nil {
		h.t.Fatalf("%v: %s", err, out)
	}
	return answer.ID
}

// TestEval_markedAnswer: an answer that was marked down becomes a case without personal data. The
// case fails, and passes once the assistant is fixed and the case has the new expectation.
func TestEval_markedAnswer(t *testing.T) {
	t.Parallel()
	h := newMarkedHost(t, "")
	id := h.ask("My name is Lê Thị Bình, my number is 0901 234 567. Find the family Nguyen")
	h.run(0, "turns", "mark", id, "down", "--note", "it should look, says Lê Thị Bình")
	h.run(1, "turns", "mark", "unknown", "down")
	h.run(2, "turns", "mark", id, "bad")
	if out, _ := h.run(0, "turns", "list", "--marked", "down", "--since", "7d"); !strings.Contains(out, id) || !strings.Contains(out, "it should look") {
		t.Errorf("the list: %s", out)
	}
	if out, _ := h.run(0, "turns", "list", "--marked", "up"); out != "" {
		t.Errorf("nothing is marked up: %s", out)
	}
	cases := filepath.Join(h.dir, "cases")
	out, errs := h.run(2, "eval", "import", "--marked", "down", "--since", "7d", "--out", cases)
	for _, want := range []string{"e-mail addresses →", "Lê Thị Bình → Person A", "0901 234 567 → 0900 000 001"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not shown before: %s%s", want, out, errs)
		}
	}
	if _, err := os.Stat(cases); err == nil {
		t.Error("something was written without a yes")
	}
	out, _ = h.run(0, "eval", "import", "--marked", "down", "--out", cases, "--yes")
	if !strings.Contains(out, "replayed: fail") {
		t.Errorf("the case is not red: %s", out)
	}
	file := filepath.Join(cases, "marked-"+id[len(id)-8:]+".yaml")
	for name, text := range folderText(t, cases) {
		if strings.Contains(text, "Bình") || strings.Contains(text, "234 567") || !strings.Contains(text, "Person A") {
			t.Errorf("%s is not masked: %s", name, text)
		}
	}
	h.run(1, "eval", "run", file)

	text := readText(t, file)
	wanted := "    expect:\n      calls: {order: true, items: [{name: search_family, args: {query: Nguyen}}]}\n      answer: {all: [{contains: Nguyen is here}]}\n"
	text = regexp.MustCompile(`(?s)    expect:\n.*`).ReplaceAllString(text, wanted)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	h.run(1, "eval", "run", file)
	h.prompt(goodPrompt, "")
	out, errs = h.run(3, "eval", "accept", "--live", file)
	list := regexp.MustCompile(`--yes (\w+)`).FindStringSubmatch(errs)
	if list == nil {
		t.Fatalf("no list: %s%s", out, errs)
	}
	h.run(0, "eval", "accept", "--live", "--yes", list[1], file)
	h.run(0, "eval", "run", file)
}

// The case of an answer that was marked up expects that answer. Answers that were marked long ago,
// of another assistant, or not marked are not imported.
func TestEval_markedUp(t *testing.T) {
	long(t, "seven commands open a host each")
	t.Parallel()
	h := newMarkedHost(t, "")
	h.prompt(goodPrompt, "")
	id := h.ask("Find the family Nguyen")
	cases := filepath.Join(h.dir, "cases")
	h.run(eval.ExitNothing, "eval", "import", "--marked", "up", "--out", cases, "--yes")
	h.run(0, "turns", "mark", id, "up")
	h.run(eval.ExitNothing, "eval", "import", "--marked", "up", "--assistant", "dental", "--out", cases, "--yes")
	h.run(2, "eval", "import", "--marked", "up", "--since", "soon", "--out", cases, "--yes")
	h.run(0, "eval", "import", "--marked", "up", "--out", cases, "--yes")
	h.run(0, "eval", "run", cases)
	h.run(0, "turns", "mark", id, "none")
	h.run(eval.ExitNothing, "eval", "import", "--marked", "up", "--out", cases, "--yes")
}

// TestEval_markedWire: where turns keep their wire traffic, the case has the whole
// conversation with its requests, so that a changed prompt is drift. What is masked and came
// in pieces is taken from the trace instead.
func TestEval_markedWire(t *testing.T) {
	long(t, "one conversation is recorded and replayed many times")
	t.Parallel()
	const keep = "telemetry: {wire: 7d}\n"
	h := newMarkedHost(t, keep)
	h.prompt(goodPrompt, keep)
	h.ask("--conversation", "chat_1", "My number is 0901 234 567. Find the family Nguyen")
	id := h.ask("--conversation", "chat_1", "And once more, please")
	h.run(0, "turns", "mark", id, "down")
	cases := filepath.Join(h.dir, "cases")
	out, _ := h.run(0, "eval", "import", "--marked", "down", "--out", cases, "--yes")
	if !strings.Contains(out, "replayed: fail") {
		t.Errorf("not red: %s", out)
	}
	file := filepath.Join(cases, "marked-"+id[len(id)-8:]+".yaml")
	tape := readText(t, filepath.Join(cases, "marked-"+id[len(id)-8:]+".tape.jsonl"))
	if strings.Contains(tape, "unkeyed") || strings.Contains(tape, "234 567") || !strings.Contains(tape, "0900 000 001") || strings.Count(tape, `"type":"user"`) != 2 {
		t.Errorf("the tape: %.3000s", tape)
	}
	h.prompt(goodPrompt+" Be brief.", keep)
	h.run(eval.ExitDrift, "eval", "run", file)
	h.run(1, "eval", "run", "--from-drift", "live", file)

	// A case that fails on its tape passes by its own checks, once the result of a change is what
	// it expects.
	text := regexp.MustCompile(`(?s)    expect:\n.*`).ReplaceAllString(readText(t, file), "    expect: {no_call: true}\n")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	h.prompt(badPrompt, keep)
	h.run(0, "eval", "run", "--from-drift", "live", file)

	id = h.ask("My name is Lê Thị Bình. Find the family Nguyen")
	h.run(0, "turns", "mark", id, "down")
	out, _ = h.run(0, "eval", "import", "--marked", "down", "--since", "1h", "--out", filepath.Join(h.dir, "more"), "--yes")
	if !strings.Contains(out, "came in pieces") {
		t.Errorf("the split answer: %s", out)
	}
	if tape := readText(t, filepath.Join(h.dir, "more", "marked-"+id[len(id)-8:]+".tape.jsonl")); strings.Contains(tape, "Bình") {
		t.Errorf("the tape is not masked: %s", tape)
	}
}

// TestServe_keepsNoPatients: an assistant with a topic keeps no wire traffic, unless it says
// so itself.
func TestKeepWire_notWithTopic(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		assistant string
		kept      bool
	}{
		"without a topic": {"{system_prompt: " + badPrompt + "}", true},
		"with a topic":    {"{topic: dental}", false},
		"that says so":    {"{topic: dental, wire: true}", true},
		"that says no":    {"{system_prompt: " + badPrompt + ", wire: false}", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newMarkedHost(t, "")
			config := "listen: 127.0.0.1:9\ndefault: one\ntelemetry: {wire: 7d}\nllm: {provider: ollama}\nassistants:\n  one: " + tt.assistant + "\n"
			if err := os.WriteFile(filepath.Join(h.dir, "molar.yaml"), []byte(config), 0o600); err != nil {
				t.Fatal(err)
			}
			id := h.ask("What causes caries in children?")
			db, err := store.Open(t.Context(), store.Config{Path: filepath.Join(h.home, ".local/share/molar/molar.db")})
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			if _, kept, err := db.GetWire(t.Context(), id); kept != tt.kept || err != nil {
				t.Errorf("kept %v, want %v: %v", kept, tt.kept, err)
			}
		})
	}
}
