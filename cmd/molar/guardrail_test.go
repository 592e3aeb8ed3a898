package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"molar/agent/subject/scoring"
	"molar/internal/cli"
)

// molar runs the program and returns its exit code and output.
func molar(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	home := t.TempDir()
	env := func(name string) (string, bool) {
		switch name {
		case "HOME", "USERPROFILE":
			return home, true
		case "OLLAMA_BASE_URL":
			return "http://127.0.0.1:9", true
		}
		return "", false
	}
	var out, errs bytes.Buffer
	code = execute(t.Context(), args, env, strings.NewReader(""), &out, &errs)
	return code, out.String(), errs.String()
}

// The documentation shows the numbers that the command computes.
func TestGuardrail_DocumentationShowsTheTestPart(t *testing.T) {
	t.Parallel()
	code, out, errs := molar(t, "guardrail", "eval", "../../topics/dental/held/test.jsonl", "--no-model")
	if code != cli.OK {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	report, _, _ := strings.Cut(out, "\nline ")
	doc, err := os.ReadFile("../../topics/dental/lines/README.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(doc), strings.TrimSpace(report)) {
		t.Errorf("topics/dental/lines/README.md does not show what the command prints:\n%s", report)
	}
}

// Lines of emergencies need no label of the topic; their kind marks the harmless ones.
func TestGuardrail_EvalEmergencies(t *testing.T) {
	t.Parallel()
	file := t.TempDir() + "/lines.jsonl"
	lines := `{"text": "My front tooth was knocked out just now, it is in my hand", "lang": "en", "kind": "knocked_out"}
{"text": "Một ngày nên đánh răng bao nhiêu lần?", "lang": "vi", "kind": "harmless"}
{"text": "How much is a filling?", "lang": "en", "kind": "lost"}
`
	if err := os.WriteFile(file, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errs := molar(t, "guardrail", "eval", "--emergencies", file)
	for _, want := range []string{"found  1 of 2", "alarms       0 of 1", "line 3 wrong (lost): found []"} {
		if code != cli.OK || !strings.Contains(out, want) {
			t.Errorf("exit code %d: no %q in %s%s", code, want, out, errs)
		}
	}
}

// A topic that is nothing but config keeps to its subject.
func TestGuardrail_SecondTopic(t *testing.T) {
	t.Parallel()
	code, out, errs := molar(t, "guardrail", "eval", "../../examples/gardening/heldout.jsonl", "--no-model",
		"--config", "../../examples/gardening/molar.yaml", "--topic", "gardening", "--output-format", "json")
	if code != cli.OK {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	var r scoring.Report
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err)
	}
	t.Logf("n %d, accuracy %.3f, sure %+v", r.N, r.Accuracy, r.Sure)
	if r.Accuracy < 0.9 || r.InDomainRecall < 0.9 || r.Sure.Wrong > 0 {
		t.Errorf("%s", out)
	}
}

func TestGuardrail_BadFilesAreUsageErrors(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"unknown key": `{"text":"a","in_domain":true,"label":1}`,
		"torn":        `{"text":"a","in_dom`,
		"two values":  `{"text":"a","in_domain":true} {}`,
		"no label":    `{"text":"a"}`,
		"language":    `{"text":"a","in_domain":true,"lang":"French"}`,
		"long":        `{"text":"` + strings.Repeat("a", 1<<20) + `","in_domain":true}`,
	} {
		t.Run(name, func(t *testing.T) {
			file := writeFile(t, "lines.jsonl", `{"text":"a","in_domain":true}`+"\n"+text+"\n")
			if code, _, errs := molar(t, "guardrail", "eval", file, "--no-model"); code != cli.Misuse || !strings.Contains(errs, file+":2: ") {
				t.Errorf("exit code %d, %s; want %d and %s:2", code, errs, cli.Misuse, file)
			}
		})
	}
}

// Whatever is asked gets a verdict.
func TestGuardrail_HugeAndOddQuestions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, verdict string }{
		"100 KB":         {strings.Repeat("sâu răng ", 11000), "verdict"},
		"emoji":          {"😀😀", "by code: no words to judge\n"},
		"nothing":        {"", "by code: no words to judge\n"},
		"other script":   {"今天天气怎么样", "verdict"},
		"other language": {"Zahnschmerzen seit drei Tagen", "verdict      pass"},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, errs := molar(t, "guardrail", "check", "--no-model", c.text)
			if code != cli.OK || !strings.Contains(out, c.verdict) {
				t.Errorf("exit code %d: %s%s", code, out, errs)
			}
		})
	}
}

// The gardening topic brings an emergency and its notice.
func TestChat_EmergencyOfAnOwnTopic(t *testing.T) {
	t.Parallel()
	_, out, errs := molar(t, "chat", "--config", "../../examples/gardening/molar.yaml", "--provider", "offline", "my son just swallowed some weedkiller")
	if !strings.Contains(out, "garden chemical") {
		t.Errorf("out %q, err %q", out, errs)
	}
}

// Another topic also configures the text after its notices: a passage of its folder, or nothing.
func TestChat_WhatFollowsTheNoticeOfAnOwnTopic(t *testing.T) {
	t.Parallel()
	notes := writeFile(t, "notes.md", "## Frost\nA berry bush that my son planted stands the cold.\n\n## Poisoned by a plant {#poisoned}\nRinse the mouth and keep the plant.\n")
	config := writeFile(t, "molar.yaml", `
llm: {provider: offline}
knowledge: {notes: {path: `+filepath.Dir(notes)+`}}
assistants: {gardener: {topic: garden, search: [notes]}}
topics:
  garden:
    description: {vi: làm vườn, en: gardening}
    phrases: [berry, garden]
    emergencies:
      - {kind: poisoned, phrases: [ate * berries], notice: {vi: Không gây nôn., en: Do not vomit.}, passage: poisoned}
      - {kind: despair, phrases: [end it all], notice: {vi: Hãy gọi., en: Talk to somebody now.}, only_notice: true}
`)
	for question, want := range map[string]struct{ last, absent string }{
		"my son ate berries of the bush that he planted": {"Rinse the mouth and keep the plant.", "Frost"},
		"my berry bush froze and I want to end it all":   {"Talk to somebody now.", "Frost"},
	} {
		_, out, errs := molar(t, "chat", "--config", config, "--assistant", "gardener", question)
		if !strings.Contains(out, want.last) || strings.Contains(out, want.absent) || strings.Contains(out, "nothing") {
			t.Errorf("%q: out %q, err %q", question, out, errs)
		}
	}
}
