package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"molar/eval"
	"molar/internal/testkit/models"
)

// ruin is an answer that does not fit any question of the cases.
const ruin = "I hate families. Go away."

// ruinedModel makes the calls of the tape and answers something else.
func ruinedModel(t *testing.T) string {
	t.Helper()
	looks := looksUp("Nguyen", false).Script
	model := models.New(models.Config{Script: func(r models.Request) *models.Reply {
		if r.Roles[len(r.Roles)-1] == "tool" {
			return &models.Reply{Tokens: []string{ruin}}
		}
		return looks(r)
	}})
	url, err := model.Start(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = model.Close() })
	return url
}

// edit replaces a text in a file.
func edit(t *testing.T, file, old, with string) {
	t.Helper()
	text := readText(t, file)
	if !strings.Contains(text, old) {
		t.Fatalf("%s lacks %q:\n%s", file, old, text)
	}
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(text, old, with)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestEval_otherAnswer: every form of the report distinguishes a run with the calls of the tape
// and another answer from one with the same answer and from one with other calls. Such a run
// passes only if the case checks its answers.
func TestEval_otherAnswer(t *testing.T) {
	long(t, "a case is run in nine ways")
	t.Parallel()
	file := recordedCase(t)
	dir := filepath.Dir(file)
	edit(t, filepath.Join(dir, "molar.yaml"), "families.", "families, briefly.")
	calls := models.New(looksUp("Tran", false))
	otherCalls, err := calls.Start(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = calls.Close() }()
	unchecked := readText(t, file)
	for _, test := range []struct {
		name, model string
		flags       []string
		check       string // what the case expects of both answers
		want        eval.Outcome
		status      eval.Status
	}{
		{"the same, from drift", goldenModel(t, false), []string{"--from-drift", "live"}, "", eval.OutcomeSame, eval.StatusPass},
		{"the same, live", goldenModel(t, false), []string{"--live-model"}, "", eval.OutcomeSame, eval.StatusPass},
		{"another answer, from drift", ruinedModel(t), []string{"--from-drift", "live"}, "", eval.OutcomeOtherAnswer, eval.StatusFail},
		{"another answer, three times", ruinedModel(t), []string{"--from-drift", "live", "--trials", "3"}, "", eval.OutcomeOtherAnswer, eval.StatusFail},
		{"another answer, live", ruinedModel(t), []string{"--live-model"}, "", eval.OutcomeOtherAnswer, eval.StatusFail},
		{"another answer that is checked and right", ruinedModel(t), []string{"--from-drift", "live"}, "Go away", eval.OutcomeOtherAnswer, eval.StatusPass},
		{"another answer that is checked and wrong", ruinedModel(t), []string{"--live-model"}, "tok1", eval.OutcomeOtherAnswer, eval.StatusFail},
		{"other calls", otherCalls, []string{"--from-drift", "live"}, "", eval.OutcomeOtherCalls, eval.StatusFail},
		{"other calls, live", otherCalls, []string{"--live-model"}, "", eval.OutcomeOtherCalls, eval.StatusFail},
	} {
		t.Run(test.name, func(t *testing.T) {
			text := unchecked
			if test.check != "" {
				text = strings.ReplaceAll(text, "expect:\n", "expect:\n      answer: {all: [{contains: "+test.check+"}]}\n")
			}
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			out := func(name string) string { return filepath.Join(dir, name) }
			code, stdout, stderr := evalRun(t, test.model, append([]string{"eval", "run", file, "--json", out("r.json"), "--junit", out("r.xml"), "--html", out("r.html")}, test.flags...)...)
			var rep eval.Report
			if err := json.Unmarshal([]byte(readText(t, out("r.json"))), &rep); err != nil {
				t.Fatalf("%v: %s", err, stderr)
			}
			c := rep.Cases[0]
			if c.Status != test.status || (code == 0) != (test.status == eval.StatusPass) || c.WhatIf == nil || c.WhatIf.Outcome != test.want {
				t.Fatalf("exit code %d, status %s, %+v: %s%s", code, c.Status, c.WhatIf, stdout, stderr)
			}
			counts := map[eval.Outcome]int{
				eval.OutcomeSame: rep.WhatIf.Same, eval.OutcomeOtherAnswer: rep.WhatIf.OtherAnswer, eval.OutcomeOtherCalls: rep.WhatIf.OtherCalls,
			}
			if counts[test.want] != rep.WhatIf.Left || rep.WhatIf.Left != max(len(c.Trials), 1) {
				t.Errorf("counts %v of %d", counts, rep.WhatIf.Left)
			}
			for name, form := range map[string]string{"terminal": stdout, "JUnit": readText(t, out("r.xml")), "HTML": readText(t, out("r.html"))} {
				if !strings.Contains(form, string(test.want)) {
					t.Errorf("%s does not tell %q:\n%s", name, test.want, form)
				}
				if test.want == eval.OutcomeOtherAnswer {
					for _, answer := range []string{"Go away", "tok1"} {
						if !strings.Contains(form, answer) {
							t.Errorf("%s does not show the answer %q:\n%s", name, answer, form)
						}
					}
				}
			}
		})
	}
}

// TestEval_reportOutcomes: a comparison of two reports describes the changes in the same words.
func TestEval_reportOutcomes(t *testing.T) {
	t.Parallel()
	file := recordedCase(t)
	before, after := filepath.Join(filepath.Dir(file), "before.json"), filepath.Join(filepath.Dir(file), "after.json")
	if code, _, stderr := evalRun(t, nowhere, "eval", "run", file, "--json", before); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	if code, _, stderr := evalRun(t, ruinedModel(t), "eval", "run", file, "--live-model", "--json", after); code != eval.ExitFailed {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	code, stdout, _ := evalRun(t, nowhere, "eval", "report", before, after)
	for _, want := range []string{"case: pass → fail", "case: same calls, other answer", "Go away", "tok1", "same calls and answer: 0; same calls, other answer: 1; other calls: 0"} {
		if code != eval.ExitFailed || !strings.Contains(stdout, want) {
			t.Errorf("exit code %d, want %q:\n%s", code, want, stdout)
		}
	}
}

// TestEval_fault: a model that is asked after a fault is judged by its answer. A fault without one
// to see it is refused, since the tape's answer would say nothing about it.
func TestEval_fault(t *testing.T) {
	t.Parallel()
	file := recordedCase(t)
	edit(t, file, "expect:\n", "expect:\n      answer: {all: [{contains: tok1}]}\n")
	for model, want := range map[string]int{goldenModel(t, false): 0, ruinedModel(t): eval.ExitFailed} {
		for _, fault := range []string{"tool:family__*=error", "tool:family__*=timeout", "tool:family__search_family=empty", "tool:*=inject"} {
			code, stdout, stderr := evalRun(t, model, "eval", "run", file, "--fault", fault, "--from-drift", "live")
			if code != want || strings.Contains(stdout, "no fault hit") {
				t.Errorf("%s: exit code %d, want %d: %s%s", fault, code, want, stdout, stderr)
			}
		}
	}
	if code, stdout, _ := evalRun(t, nowhere, "eval", "run", file, "--fault", "tool:family__*=error", "--from-drift", "offline"); code != eval.ExitFailed || !strings.Contains(stdout, "tok1") {
		t.Errorf("offline: exit code %d: %s", code, stdout)
	}
	if code, stdout, _ := evalRun(t, nowhere, "eval", "run", file, "--fault", "tool:nobody__*=error", "--from-drift", "offline"); code != 0 || !strings.Contains(stdout, "no fault hit a call") {
		t.Errorf("a fault of no tool: exit code %d: %s", code, stdout)
	}
	for _, flags := range [][]string{nil, {"--live-tools"}} {
		code, _, stderr := evalRun(t, nowhere, append([]string{"eval", "run", file, "--fault", "tool:*=error"}, flags...)...)
		if code != eval.ExitInvalid || !strings.Contains(stderr, "give --from-drift live, --from-drift offline or --live-model") {
			t.Errorf("%v: exit code %d: %s", flags, code, stderr)
		}
	}
}

// withEndpoints adds endpoints to the config of a recorded case, for models that make the calls of the
// tape (good), answer otherwise (ruined), call otherwise (tran) and are down. Good has a price for its
// model, ruined only for its small model; the others cost nothing.
func withEndpoints(t *testing.T, file string) {
	t.Helper()
	tran := models.New(looksUp("Tran", false))
	url, err := tran.Start(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tran.Close() })
	endpoints := "  providers:\n"
	for name, keys := range map[string]string{
		"good":   goldenModel(t, false) + ", model: 'qwen2.5:7b-instruct', price: {input: 1000, output: 2000}",
		"ruined": ruinedModel(t) + ", model: 'qwen2.5:7b-instruct', small_model: 'qwen2.5:3b-instruct', small_price: {input: 10}",
		"tran":   url, "down": nowhere,
	} {
		endpoints += "    " + name + ": {api: ollama, base_url: " + keys + "}\n"
	}
	edit(t, filepath.Join(filepath.Dir(file), "molar.yaml"), "default: family\n", "default: family\nllm:\n"+endpoints)
}

// A model that a flag names is asked, although the config names another one than at the time of the recording, and
// although the tape was imported.
func TestEval_namedModelIsAsked(t *testing.T) {
	t.Parallel()
	file := recordedCase(t)
	withEndpoints(t, file)
	dir := filepath.Dir(file)
	edit(t, filepath.Join(dir, "molar.yaml"), "llm:\n", "llm:\n  ollama: {model: other}\n")
	put(t, filepath.Join(dir, "chats.jsonl"), []byte(`{"id":"c1","messages":[{"role":"user","content":"Hello"},{"role":"assistant","content":"Good day."}]}`+"\n"))
	if code, _, stderr := evalRun(t, nowhere, "eval", "import", "--from", "openai", "--out", filepath.Join(dir, "chats"), filepath.Join(dir, "chats.jsonl")); code != 0 {
		t.Fatal(stderr)
	}
	for file, config := range map[string][]string{file: nil, filepath.Join(dir, "chats"): {"--config", filepath.Join(dir, "molar.yaml")}} {
		out := filepath.Join(t.TempDir(), "r.json")
		code, stdout, stderr := evalRun(t, nowhere, append([]string{"eval", "run", file, "--from-drift", "live", "--provider", "good", "--json", out}, config...)...)
		var rep eval.Report
		if err := json.Unmarshal([]byte(readText(t, out)), &rep); err != nil {
			t.Fatal(err)
		}
		if w := rep.Cases[0].WhatIf; w == nil || w.Cost == nil || *w.Cost == 0 { // only good has a price
			t.Errorf("%s: exit code %d, %+v: %s%s", file, code, w, stdout, stderr)
		}
	}
}
