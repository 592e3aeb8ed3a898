package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"molar/eval"
	"molar/internal/host"
	"molar/internal/store/storetest"
)

// newSelectHost returns a host without a model, with assistants that search a folder, and that refuse what is
// not about teeth: of one the questions are kept.
func newSelectHost(t *testing.T, more string) *markedHost {
	t.Helper()
	h := &markedHost{t: t, home: t.TempDir(), dir: t.TempDir()}
	config := "listen: 127.0.0.1:9\ndefault: help\nllm: {provider: offline}\n" + more + "knowledge:\n  office: {path: office, corrections: true}\nassistants:\n" +
		"  help: {system_prompt: You answer the questions of colleagues., search: [office]}\n" +
		"  clinic: {topic: dental, wire: true}\n  quiet: {topic: dental}\n"
	for name, text := range map[string]string{"molar.yaml": config, "office/lunch.md": "# Lunch\n\nLunch is served in the canteen from noon to two.\n"} {
		path := filepath.Join(h.dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

const offTopic = "My name is Lê Thị Bình, call 0901 234 567. Write a poem about my car insurance"

// TestEval_importSelected: turns of which something is to be learnt are listed and imported by the same words,
// each once and masked. Cases of turns that found nothing are red until a search finds something, that of a
// refusal expects it. A refused question is kept only where the settings keep traffic of its assistant.
func TestEval_importSelected(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) { t.Parallel(); importSelected(t, "") })
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		importSelected(t, "memory: {store: \""+storetest.StartPostgres(t).Database(t)+"\"}\n")
	})
}

func importSelected(t *testing.T, store string) {
	t.Helper()
	h := newSelectHost(t, store+"telemetry: {wire: 7d}\n")
	missed := h.ask("--conversation", "chat_1", payroll)
	again := h.ask("--conversation", "chat_1", "The payroll system: how is its password reset?")
	h.ask("--conversation", "chat_1", "And for the mail system?")
	lunch := h.ask("--conversation", "chat_2", "When is lunch served?")
	h.ask("--conversation", "chat_3", "--assistant", "clinic", "How should I brush my teeth?")
	kept := h.asked(3, "--conversation", "chat_3", "--assistant", "clinic", offTopic)
	h.ask("--conversation", "chat_3", "--assistant", "clinic", "What causes caries in children?")
	unkept := h.asked(3, "--assistant", "quiet", offTopic)
	h.run(0, "turns", "mark", lunch, "down")
	h.run(0, "turns", "mark", again, "up")

	all := []string{"--marked", "down", "--refused", "--no-result", "--asked-twice"}
	out, _ := h.run(0, append([]string{"turns", "list", "--output-format", "json"}, all...)...)
	var listed []host.SelectedTurn
	if err := json.Unmarshal([]byte(out), &listed); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	why := make(map[string]string)
	for _, turn := range listed {
		why[turn.ID] = strings.Join(turn.Why, " ")
	}
	for id, want := range map[string]string{missed: "no-result asked-twice", again: "no-result", lunch: "marked", kept: "refused", unkept: "refused"} {
		if why[id] != want {
			t.Errorf("turn %s is listed for %q, want %q", id, why[id], want)
		}
	}
	if out, _ := h.run(0, "turns", "list", "--asked-twice", "--since", "1h"); strings.Count(out, "\n") != 1 || !strings.Contains(out, missed) {
		t.Errorf("asked twice: %s", out)
	}

	cases := filepath.Join(h.dir, "cases [1]") // no pattern
	h.run(2, append([]string{"eval", "import", "--out", cases, h.dir, "--yes"}, all...)...)
	h.run(2, append([]string{"eval", "import", "--out", cases, "--limit", "-1", "--yes"}, all...)...)
	h.run(2, "turns", "list", "--refused", "--gaps")
	h.run(eval.ExitNothing, "eval", "import", "--out", cases, "--refused", "--assistant", "quiet", "--yes")
	out, _ = h.run(2, append([]string{"eval", "import", "--out", cases}, all...)...)
	for _, want := range []string{"Lê Thị Bình → Person A", "left out: 1, the text of a refused question is not kept; telemetry.wire together with wire: true of the assistant keeps it from then on"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not shown before: %s", want, out)
		}
	}
	if _, err := os.Stat(cases); err == nil {
		t.Error("something was written without a yes")
	}
	h.run(0, "eval", "import", "--out", filepath.Join(h.dir, "one"), "--no-result", "--limit", "1", "--yes")
	if files := folderText(t, filepath.Join(h.dir, "one")); len(files) != 2 {
		t.Errorf("with a limit of one turn: %d files", len(files))
	}
	h.run(0, append([]string{"eval", "import", "--out", cases, "--yes"}, all...)...)
	if out, _ := h.run(0, "eval", "import", "--out", cases, "--asked-twice", "--yes"); !strings.Contains(out, "is there already") {
		t.Errorf("a turn is imported again for another reason: %s", out)
	}
	if files := folderText(t, cases); len(files) != 10 {
		t.Errorf("want 5 cases and tapes: %d files", len(files))
	}
	file := func(why, id string) string { return filepath.Join(cases, why+"-"+id[len(id)-8:]+".yaml") }
	for name, want := range map[string]struct {
		parts []string
		code  int
	}{
		file("no-result", missed): {[]string{"tags:\n  - no-result\n  - asked-twice\n", "not_contains:", "found: true"}, 1},
		file("no-result", again):  {[]string{"tags:\n  - no-result\n  - up\n", "items:"}, 0}, // the mark counts
		file("marked", lunch):     {[]string{"tags:\n  - marked\n  - down\n", "not_contains:"}, 1},
		file("refused", kept):     {[]string{"tags:\n  - refused\n", "Person A", "expect:\n      guardrail: refuse\n"}, 0},
	} {
		text := readText(t, name)
		for _, part := range want.parts {
			if !strings.Contains(text, part) {
				t.Errorf("%s has no %q: %s", name, part, text)
			}
		}
		h.run(want.code, "eval", "run", name)
	}
	if text := readText(t, file("refused", kept)); !strings.Contains(text, "brush my teeth") || strings.Contains(text, "caries") {
		t.Errorf("the case has not what was asked before the refused question alone: %s", text)
	}
	for name, text := range folderText(t, cases) {
		if strings.Contains(text, "Bình") || strings.Contains(text, "234 567") {
			t.Errorf("%s is not masked", name)
		}
	}

	// Once the answer is found, it is accepted.
	if err := os.WriteFile(filepath.Join(h.dir, "office", "payroll.md"), []byte("# Reset the password of the payroll system\n\nTo reset the password of the payroll system, go to floor 3.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, errs := h.run(3, "eval", "accept", "--live", file("no-result", missed))
	list := regexp.MustCompile(`--yes (\w+)`).FindStringSubmatch(errs)
	if list == nil {
		t.Fatalf("no list: %s", errs)
	}
	h.run(0, "eval", "accept", "--live", "--yes", list[1], file("no-result", missed))
	h.run(0, "eval", "run", file("no-result", missed))
}

// Without wire traffic a turn that found nothing becomes a case from its trace, and one marked down as well.
func TestEval_importTraced(t *testing.T) {
	t.Parallel()
	h := newSelectHost(t, "")
	missed := h.ask(payroll)
	refused := h.asked(3, "--assistant", "clinic", offTopic)
	cases := filepath.Join(h.dir, "cases [1]") // no pattern
	out, _ := h.run(0, "eval", "import", "--out", cases, "--no-result", "--refused", "--yes")
	if !strings.Contains(out, "left out: 1, the text of a refused question") {
		t.Errorf("a refused question: %s", out)
	}
	if _, err := os.Stat(filepath.Join(cases, "refused-"+refused[len(refused)-8:]+".yaml")); err == nil {
		t.Error("a case of a refused question whose text is not kept")
	}
	h.run(1, "eval", "run", filepath.Join(cases, "no-result-"+missed[len(missed)-8:]+".yaml"))
}
