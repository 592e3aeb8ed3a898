package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/eval"
)

// matrixOf runs molar eval run on a case, and returns its matrix.
func matrixOf(t *testing.T, file string, flags ...string) (code int, m eval.Matrix, stdout, stderr string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "matrix.json")
	code, stdout, stderr = evalRun(t, nowhere, append([]string{"eval", "run", file, "--json", out}, flags...)...)
	if text, err := os.ReadFile(out); err == nil {
		if err := json.Unmarshal(text, &m); err != nil {
			t.Fatal(err)
		}
	}
	return code, m, stdout, stderr
}

// cellTexts returns the verdicts, tokens and costs of a matrix with one case, by variant.
func cellTexts(m eval.Matrix) map[string]string {
	all := make(map[string]string)
	for i, name := range m.Rows()[0][1:] {
		all[name] = strings.Join(strings.Fields(m.Rows()[2][i+1]), " ")
	}
	return all
}

// Each model has its own column: the one of the tape is replayed, one that is down does not stand in the way
// of the others, and a price that is not known is not shown as nothing.
func TestEval_matrixOfModels(t *testing.T) {
	t.Parallel()
	file := recordedCase(t)
	withEndpoints(t, file)
	dir := filepath.Dir(file)
	code, m, stdout, stderr := matrixOf(t, file, "--models", "ollama/qwen2.5:7b-instruct,good,ruined,tran,down,good/qwen2.5:3b-instruct,offline", "--parallel", "4",
		"--html", filepath.Join(dir, "m.html"), "--junit", filepath.Join(dir, "m.xml"))
	want := map[string]string{
		"ollama/qwen2.5:7b-instruct": "pass tape", "good": "pass 442 0.4840", "ruined": "FAIL ~ 404 –", "tran": "FAIL ~! 442 0",
		"down": "infra – –", "good/qwen2.5:3b-instruct": "pass 442 –", "offline": "FAIL ~! 428 0",
	}
	if diff := cmp.Diff(want, cellTexts(m)); diff != "" || code != eval.ExitInfra {
		t.Errorf("exit code %d: %s\n%s%s", code, diff, stdout, stderr)
	}
	for _, want := range []string{"live: asks good/qwen2.5:7b-instruct, about 4 times at most (442 tokens on the tapes, which would cost 0.4840)", "live: asks down, about 4 times at most"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("it does not begin with %q:\n%s", want, stderr)
		}
	}
	for line := range strings.Lines(stdout) {
		if len([]rune(line)) > 101 && !strings.HasPrefix(line, "FAIL") && !strings.HasPrefix(line, "INFRA") {
			t.Errorf("too wide: %s", line)
		}
	}
	if !strings.Contains(stdout, "INFRA case, down: ") {
		t.Errorf("no reason: %s", stdout)
	}
	suites := readText(t, filepath.Join(dir, "m.xml"))
	for _, want := range []string{`<testsuite name="down" tests="1" failures="0" errors="1"`, `<testsuite name="tran" tests="1" failures="1"`} {
		if !strings.Contains(suites, want) {
			t.Errorf("JUnit lacks %s:\n%s", want, suites)
		}
	}
	page := readText(t, filepath.Join(dir, "m.html"))
	for _, want := range []string{"Go away", "tok1", `href="#case-1-3"`, `id="case-1-3"`, "404 tokens"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
}

// Calls that the tape does not have go to the real servers if they may.
func TestEval_matrixLiveTools(t *testing.T) {
	t.Parallel()
	file := recordedCase(t)
	withEndpoints(t, file)
	for _, flags := range [][]string{nil, {"--live-tools"}} {
		_, m, stdout, stderr := matrixOf(t, file, append([]string{"--models", "tran"}, flags...)...)
		if len(m.Columns) != 1 {
			t.Fatalf("%s%s", stdout, stderr)
		}
		call := m.Columns[0].Report.Cases[0].Turns[0].Calls[0]
		if flags != nil && !strings.Contains(stderr, "live: calls family__search_family") {
			t.Errorf("it does not begin with the calls of tools: %s", stderr)
		}
		if real := strings.Contains(call.Output, "Trần"); real != (flags != nil) {
			t.Errorf("%v: %+v", flags, call)
		}
	}
}

// A prompt is asked from the first request that has it, several times if wanted; that of the config is
// replayed. A stored matrix shows the same again.
func TestEval_matrixOfPrompts(t *testing.T) {
	t.Parallel()
	file := recordedCase(t)
	withEndpoints(t, file)
	brief := filepath.Join(t.TempDir(), "brief.txt")
	if err := os.WriteFile(brief, []byte("You look up families, briefly.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	stored := filepath.Join(t.TempDir(), "m.json")
	code, stdout, stderr := evalRun(t, goldenModel(t, false), "eval", "run", file, "--prompts", ".,"+brief, "--trials", "3", "--json", stored)
	for _, want := range []string{"config", "brief.txt", "3/3", "tape", "1326"} {
		if code != 0 || !strings.Contains(stdout, want) {
			t.Errorf("exit code %d, lacks %q:\n%s%s", code, want, stdout, stderr)
		}
	}
	if code, again, stderr := evalRun(t, nowhere, "eval", "report", stored); code != 0 || again != stdout {
		t.Errorf("exit code %d, stored: %s%s", code, cmp.Diff(stdout, again), stderr)
	}
	code, m, stdout, stderr := matrixOf(t, file, "--models", "good,tran", "--prompts", "config,"+brief, "--full")
	var names []string
	for _, c := range m.Columns {
		names = append(names, c.Name)
	}
	if want := []string{"good, config", "good, brief.txt", "tran, config", "tran, brief.txt"}; code != eval.ExitFailed || !slices.Equal(names, want) {
		t.Errorf("exit code %d, %q: %s%s", code, names, stdout, stderr)
	}
	if !strings.Contains(stdout, "tran, brief.txt: FAIL case") || !strings.Contains(stdout, "turn 2, the answers") {
		t.Errorf("--full does not show the answers:\n%s", stdout)
	}
}

// What is wrong is said before anything is asked.
func TestEval_matrixRefuses(t *testing.T) {
	t.Parallel()
	file := recordedCase(t)
	withEndpoints(t, file)
	empty := filepath.Join(t.TempDir(), "empty.txt")
	if err := os.WriteFile(empty, []byte(" \n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		flags string
		want  string
	}{
		{"--models good/llama9", "llama9"},
		{"--models gemini", "GEMINI_API_KEY"},
		{"--models good,good", "good is named twice"},
		{"--prompts nowhere.txt", "nowhere.txt"},
		{"--prompts " + empty, "empty.txt is empty"},
		{"--prompts .,config", "two are named config"},
		{"--models good --live-model", "leave out --live-model"},
		{"--models good --provider good", "--models PROVIDER/MODEL in place of --provider"},
		{"--prompts . --from-drift offline", "--from-drift"},
	} {
		code, stdout, stderr := evalRun(t, nowhere, append([]string{"eval", "run", file}, strings.Fields(test.flags)...)...)
		if code != eval.ExitInvalid || !strings.Contains(stderr, test.want) || stdout != "" || strings.Contains(stderr, "live: ") {
			t.Errorf("%s: exit code %d, want %q: %s%s", test.flags, code, test.want, stdout, stderr)
		}
	}
}

// The requests of an imported tape are not compared, so another prompt is asked from the first request.
func TestEval_matrixOfImports(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := map[string]string{"HOME": dir, "PATH": os.Getenv("PATH"), "OPENAI_API_KEY": "a-key-for-tests"}
	config, chats, prompt, out := filepath.Join(dir, "molar.yaml"), filepath.Join(dir, "chats.jsonl"), filepath.Join(dir, "brief.txt"), filepath.Join(dir, "m.json")
	put(t, config, []byte("llm: {openai: {base_url: '"+threeWires(t)+"/v1'}}\n"))
	put(t, chats, []byte(`{"id":"c1","messages":[{"role":"user","content":"Hello"},{"role":"assistant","content":"Good day."}]}`+"\n"))
	put(t, prompt, []byte("Be brief."))
	if code, text := molarIn(t, env, "eval", "import", "--from", "openai", "--out", filepath.Join(dir, "chats"), chats); code != 0 {
		t.Fatal(text)
	}
	_, text := molarIn(t, env, "eval", "run", filepath.Join(dir, "chats"), "--config", config, "--prompts", ".,"+prompt, "--json", out)
	var m eval.Matrix
	if err := json.Unmarshal([]byte(readText(t, out)), &m); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if calls := []int{m.Columns[0].Sum.ModelCalls, m.Columns[1].Sum.ModelCalls}; calls[0] != 0 || calls[1] == 0 {
		t.Errorf("model calls %v: %s", calls, text)
	}
}

// TestEval_matrixJudge: all variants have the judge of the case, so that none judges itself.
func TestEval_matrixJudge(t *testing.T) {
	t.Parallel()
	file, _ := judgedCase(t, `{judge: It is kind.}`)
	withEndpoints(t, file)
	url := judgedBy(t, says(eval.VerdictPass, "It is."))
	edit(t, filepath.Join(filepath.Dir(file), "molar.yaml"), "llm:\n", "llm:\n  provider: usual\n")
	edit(t, filepath.Join(filepath.Dir(file), "molar.yaml"), "  providers:\n", "  providers:\n    usual: {api: ollama, base_url: "+url+", model: 'qwen2.5:7b-instruct', small_model: 'qwen2.5:3b-instruct'}\n")
	_, m, stdout, stderr := matrixOf(t, file, "--models", "good,ruined", "--judge", "live")
	judges := make(map[string]string)
	for _, column := range m.Columns {
		for _, check := range column.Report.Cases[0].Checks {
			if check.Verdict != nil {
				judges[column.Name] = check.Verdict.Provider + " " + check.Verdict.Model
			}
		}
	}
	if diff := cmp.Diff(map[string]string{"good": "usual qwen2.5:3b-instruct", "ruined": "usual qwen2.5:3b-instruct"}, judges); diff != "" {
		t.Errorf("%s\n%s%s", diff, stdout, stderr)
	}
}
