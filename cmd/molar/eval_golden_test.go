package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"molar/eval"
	"molar/internal/cli"
	"molar/internal/testkit/models"
)

// goldenModel serves a model that looks up the family Nguyen. With failsAfter it answers with an
// error after the tool's result.
func goldenModel(t *testing.T, failsAfter bool) string {
	t.Helper()
	model := models.New(looksUp("Nguyen", failsAfter))
	url, err := model.Start(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = model.Close() })
	return url
}

// folderText returns the content of each file in a folder, so that a test can see whether any changed.
func folderText(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := make(map[string]string)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		all[e.Name()] = readText(t, filepath.Join(dir, e.Name()))
	}
	return all
}

func sameFolder(t *testing.T, dir string, before map[string]string) {
	t.Helper()
	after := folderText(t, dir)
	for name, text := range before {
		if after[name] != text {
			t.Errorf("%s changed", name)
		}
	}
	for name := range after {
		if _, there := before[name]; !there {
			t.Errorf("%s is new", name)
		}
	}
}

// TestEval_acceptRefusesFailures: a failed run never replaces a recording, live or replayed, with
// the expectations or without.
func TestEval_acceptRefusesFailures(t *testing.T) {
	long(t, "each failure is waited out as a turn does")
	t.Parallel()
	file := recordedCase(t)
	dir := filepath.Dir(file)
	config := filepath.Join(dir, "molar.yaml")
	whole := readText(t, config)
	for _, test := range []struct {
		name, model string
		old, new    string // in the config
		flags       []string
		why         string
	}{
		{"the model is down", nowhere, "", "", []string{"--live-model"}, "turn 1 failed"},
		{"the model is down, with --expect", nowhere, "", "", []string{"--live-model", "--expect"}, "turn 1 failed"},
		{"the model answers an error", goldenModel(t, true), "", "", []string{"--live-model", "--expect"}, "out of memory"},
		{"a server does not start", goldenModel(t, false), "command: ", "command: /nowhere", []string{"--live"}, "server family"},
		{"the assistant is gone", nowhere, "family:\n    system", "household:\n    system", nil, `there is no assistant "family"`},
		{"the assistant is gone, with --expect", nowhere, "family:\n    system", "household:\n    system", []string{"--expect"}, `there is no assistant "family"`},
		{"the tape lacks a call", nowhere, "system_prompt: You look up families.", "system_prompt: You look up families.\n    topic: dental", nil, "the tape has no"},
	} {
		t.Run(test.name, func(t *testing.T) {
			changed := strings.Replace(whole, test.old, test.new, 1)
			if test.old == "family:\n    system" {
				changed = strings.Replace(changed, "default: family", "default: household", 1)
			}
			if err := os.WriteFile(config, []byte(changed), 0o600); err != nil {
				t.Fatal(err)
			}
			before := folderText(t, dir)
			code, stdout, stderr := evalRun(t, test.model, append([]string{"eval", "accept", "--yes", "00000000", file}, test.flags...)...)
			if code != eval.ExitInfra || !strings.Contains(stderr, test.why) {
				t.Errorf("exit code %d, want %d and %q: %s%s", code, eval.ExitInfra, test.why, stdout, stderr)
			}
			sameFolder(t, dir, before)
		})
	}
}

// TestEval_recordRefusesFailures: a recording of a failure leaves neither case nor tape,
// unless it was asked for.
func TestEval_recordRefusesFailures(t *testing.T) {
	long(t, "each failure is waited out as a turn does")
	t.Parallel()
	family := buildFamily(t)
	for _, test := range []struct {
		name, model, command string
		flags                []string
		why                  string
	}{
		{"the model is down", nowhere, family, nil, "ollama"},
		{"the model answers an error", goldenModel(t, true), family, nil, "out of memory"},
		{"a server does not start", goldenModel(t, false), "/nowhere/family", nil, "server family"},
		{"no such assistant", goldenModel(t, false), family, []string{"--assistant", "nobody"}, `there is no assistant "nobody"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			config := filepath.Join(dir, "molar.yaml")
			settings := "default: family\nllm: {provider: ollama}\nassistants:\n  family:\n    system_prompt: You look up families.\n    tools: [\"family__*\"]\nmcpServers:\n  family: {command: " + test.command + "}\n"
			if err := os.WriteFile(config, []byte(settings), 0o600); err != nil {
				t.Fatal(err)
			}
			before := folderText(t, dir)
			record := func(flags ...string) (int, string, string) {
				args := slices.Concat([]string{"eval", "record", "--config", config, "--out", filepath.Join(dir, "new.yaml")}, flags, test.flags, []string{"Find the family Nguyen"})
				return evalRun(t, test.model, args...)
			}
			code, stdout, stderr := record()
			if code != eval.ExitInfra || !strings.Contains(stderr, test.why) {
				t.Errorf("exit code %d, want %d and %q: %s%s", code, eval.ExitInfra, test.why, stdout, stderr)
			}
			sameFolder(t, dir, before)
			if test.name != "the model answers an error" {
				return
			}
			if code, stdout, stderr = record("--allow-failure"); code != 0 || !strings.Contains(readText(t, filepath.Join(dir, "new.yaml")), "out of memory") {
				t.Errorf("with --allow-failure: exit code %d: %s%s", code, stdout, stderr)
			}
		})
	}
}

// TestEval_namedProviders: a config that names a service which requires a key is replayed without
// the key, however the config names the service.
func TestEval_namedProviders(t *testing.T) {
	long(t, "every way to name a provider is recorded and replayed")
	t.Parallel()
	url, family := threeWires(t), buildFamily(t)
	for _, test := range []struct{ name, provider, settings, assistant string }{
		{"gemini", "gemini", "llm: {provider: gemini}\n", ""},
		{"openai", "openai", "llm: {provider: openai}\n", ""},
		{"gemini of an assistant", "gemini", "", "    provider: gemini\n"},
		{"openai of an assistant", "openai", "llm: {provider: openai}\n", "    provider: openai\n"},
		{"another service for the rest", "openai", "llm: {provider: gemini}\n", "    provider: openai\n"},
		{"a list", "gemini", "llm: {provider: [gemini, ollama]}\n", ""},
		{"auto", "gemini", "llm: {provider: auto}\n", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			config, file := filepath.Join(dir, "molar.yaml"), filepath.Join(dir, "case.yaml")
			settings := "default: family\n" + test.settings + "assistants:\n  other:\n    system_prompt: You do something else.\n    provider: ollama\n  family:\n    system_prompt: You look up families.\n" + test.assistant +
				"    tools: [\"*\"]\nmcpServers:\n  family: {command: " + family + "}\n"
			if err := os.WriteFile(config, []byte(settings), 0o600); err != nil {
				t.Fatal(err)
			}
			env := map[string]string{
				"HOME": dir, "PATH": os.Getenv("PATH"), "GEMINI_API_KEY": "a-key-for-tests", "OPENAI_API_KEY": "a-key-for-tests",
				"MOLAR_LLM_GEMINI_BASE_URL": url, "MOLAR_LLM_OPENAI_BASE_URL": url + "/v1",
			}
			if code, out := molarIn(t, env, "eval", "record", "--config", config, "--out", file, "Find the family Nguyen"); code != 0 {
				t.Fatalf("record: exit code %d: %s", code, out)
			}
			// What a recording at the service's own address has: no address at all.
			tape := filepath.Join(dir, "case.tape.jsonl")
			text := strings.NewReplacer(`,"base_url":"`+url+`/v1"`, "", `,"base_url":"`+url+`"`, "").Replace(readText(t, tape))
			if !strings.Contains(text, `"provider":"`+test.provider+`"`) {
				t.Errorf("the tape is not of %s", test.provider)
			}
			if err := os.WriteFile(tape, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, keys := range []string{"", "a-key-for-tests"} {
				env := map[string]string{"HOME": dir, "PATH": os.Getenv("PATH"), "GEMINI_API_KEY": keys, "OPENAI_API_KEY": keys}
				if code, out := molarIn(t, env, "eval", "run", file); code != 0 {
					t.Errorf("with the key %q: exit code %d: %s", keys, code, out)
				}
			}
		})
	}
}

// molarIn runs molar in this process with the given environment.
func molarIn(t *testing.T, env map[string]string, args ...string) (code int, out string) {
	t.Helper()
	var both strings.Builder
	code = execute(t.Context(), args, func(name string) (string, bool) { v := env[name]; return v, v != "" }, strings.NewReader(""), &both, &both)
	return code, both.String()
}

// TestEval_never: with MOLAR_EVAL_RECORD=never no model is asked, no tool is called, and no tape and no
// case is written. What only reads is allowed.
func TestEval_never(t *testing.T) {
	t.Parallel()
	file := recordedCase(t)
	dir := filepath.Dir(file)
	config, url := filepath.Join(dir, "molar.yaml"), goldenModel(t, false)
	if err := os.WriteFile(config, []byte(strings.Replace(readText(t, config), "families.", "Families.", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	tape, out := filepath.Join(dir, "case.tape.jsonl"), filepath.Join(dir, "new.yaml")
	env := map[string]string{"HOME": t.TempDir(), "PATH": os.Getenv("PATH"), "OLLAMA_BASE_URL": url, "MOLAR_EVAL_RECORD": "never"}
	before := folderText(t, dir)
	for _, args := range [][]string{
		{"eval", "run", "--live-model", file},
		{"eval", "run", "--live-tools", file},
		{"eval", "run", "--models", "ollama", file},
		{"eval", "accept", "--yes", "00000000", file},
		{"eval", "accept", "--live", file},
		{"eval", "accept", "--live-model", "--yes", "00000000", file},
		{"eval", "record", "--config", config, "--provider", "ollama", "--out", out, "Find the family Nguyen"},
		{"eval", "record", "--config", config, "--turn", "some", "--out", out},
		{"eval", "import", "--from", "pairs", "--out", dir, tape},
		{"eval", "run", "--from-drift", "live", file},
	} {
		code, text := molarIn(t, env, args...)
		if code != cli.Misuse || !strings.Contains(text, "MOLAR_EVAL_RECORD=never") {
			t.Errorf("molar %s: exit code %d: %s", strings.Join(args, " "), code, text)
		}
	}
	sameFolder(t, dir, before)
	if code, text := molarIn(t, env, "eval", "accept", file); code != eval.ExitDrift {
		t.Errorf("to look at the drift is free: exit code %d: %s", code, text)
	}
	if code, text := molarIn(t, env, "eval", "verify", file); code != cli.OK {
		t.Errorf("to compare the tools is free: exit code %d: %s", code, text)
	}
	sameFolder(t, dir, before)
}

// TestEval_signatures: a signature that the host no longer sends back, and an answer that
// it no longer asks for as a stream, are drift.
func TestEval_signatures(t *testing.T) {
	long(t, "each change is a replay")
	t.Parallel()
	url, dir := threeWires(t), t.TempDir()
	config, file := filepath.Join(dir, "molar.yaml"), filepath.Join(dir, "case.yaml")
	settings := "default: family\nllm: {provider: gemini, gemini: {base_url: " + url + "}}\nassistants:\n  family:\n    system_prompt: You look up families.\n    tools: [\"family__*\"]\nmcpServers:\n  family: {command: " + buildFamily(t) + "}\n"
	if err := os.WriteFile(config, []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"HOME": dir, "PATH": os.Getenv("PATH"), "GEMINI_API_KEY": "a-key-for-tests"}
	if code, out := molarIn(t, env, "eval", "record", "--config", config, "--out", file, "Find the family Nguyen"); code != 0 {
		t.Fatalf("record: exit code %d: %s", code, out)
	}
	tape := filepath.Join(dir, "case.tape.jsonl")
	whole := readText(t, tape)
	for _, test := range []struct{ name, line, old, new, want string }{
		{"signature lost", `"pass":"answer"`, `,"thoughtSignature":"c2lnbmF0dXJl"`, "", "signature"},
		{"signature changed", `"pass":"answer"`, `"thoughtSignature":"c2lnbmF0dXJl"`, `"thoughtSignature":"c2lnbmF0dXJm"`, "signature"},
		{"whole instead of streamed", `"pass":"tool"`, ":streamGenerateContent", ":generateContent", "transport"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if err := os.WriteFile(tape, []byte(change(t, whole, test.line, test.old, test.new)), 0o600); err != nil {
				t.Fatal(err)
			}
			code, rep, _ := reportOf(t, file)
			if len(rep.Cases[0].Drift) == 0 || rep.Cases[0].Drift[0].Class != test.want || code != eval.ExitDrift {
				t.Errorf("exit code %d, drift %+v, want %s", code, rep.Cases[0].Drift, test.want)
			}
		})
	}
}

// TestEval_liveTools: a case whose assistant may call everything does not drift when its
// servers are called for real and nothing has changed.
func TestEval_liveTools(t *testing.T) {
	t.Parallel()
	file := recordedCase(t)
	config := filepath.Join(filepath.Dir(file), "molar.yaml")
	if err := os.WriteFile(config, []byte(strings.Replace(readText(t, config), `["family__*"]`, `["*"]`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	url := goldenModel(t, false)
	file = filepath.Join(filepath.Dir(file), "all.yaml")
	if code, _, stderr := evalRun(t, url, "eval", "record", "--config", config, "--provider", "ollama", "--out", file, "Find the family Nguyen"); code != 0 {
		t.Fatalf("record: exit code %d: %s", code, stderr)
	}
	if code, stdout, stderr := evalRun(t, nowhere, "eval", "run", "--live-tools", file); code != 0 {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
}

// TestEval_acceptShows: the differences of a live model are shown, old against new, and only the
// list that was shown can be accepted.
func TestEval_acceptShows(t *testing.T) {
	long(t, "a case is run four times against a model")
	t.Parallel()
	file := recordedCase(t)
	dir := filepath.Dir(file)
	model := models.New(looksUp("Tran", false))
	url, err := model.Start(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = model.Close() }()
	before := folderText(t, dir)
	accept := func(more ...string) (int, string, string) {
		return evalRun(t, url, append([]string{"eval", "accept", "--live", "--expect", file}, more...)...)
	}
	code, stdout, stderr := accept()
	for _, want := range []string{`call family__search_family {"query":"Nguyen"}`, `call family__search_family {"query":"Tran"}`} {
		if !strings.Contains(stdout, want) {
			t.Errorf("the list lacks %q:\n%s", want, stdout)
		}
	}
	for _, want := range []string{"live: asks the model of ollama qwen2.5:7b-instruct, 4 times", "live: calls family__search_family, 2 times"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("not told: %q:\n%s", want, stderr)
		}
	}
	_, name, _ := strings.Cut(strings.TrimSpace(stderr), "--yes ")
	if code != eval.ExitDrift || len(name) != 8 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	if code, _, stderr := accept("--yes", "00000000"); code != eval.ExitDrift {
		t.Errorf("another list: exit code %d: %s", code, stderr)
	}
	sameFolder(t, dir, before)
	if code, _, stderr := accept("--yes", name); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	if code, rep, _ := reportOf(t, file); code != 0 || rep.Cases[0].Turns[0].Calls[0].Arguments != `{"query":"Tran"}` {
		t.Errorf("exit code %d: %s", code, rep.Cases[0].Why)
	}
}

// TestEval_verifyContract: verify and a live run name a tool that a server removed, renamed or
// described anew, or whose arguments, results or hints changed, before it is called.
func TestEval_verifyContract(t *testing.T) {
	long(t, "each change is seen by servers that are started")
	t.Parallel()
	file := recordedCase(t)
	tape := filepath.Join(filepath.Dir(file), "case.tape.jsonl")
	whole := readText(t, tape)
	for _, test := range []struct{ name, old, new, want string }{
		{"removed", `{"tools":[`, `{"tools":[{"name":"delete_family","inputSchema":{"type":"object","properties":{"x":{"type":"string"}}}},`, "tool family__delete_family: tool-removed, breaking"},
		{"renamed", `"name":"search_family"`, `"name":"find_family"`, "tool family__find_family: tool-renamed, breaking"},
		{"described anew", `"description":"Show a family`, `"description":"Show the family`, "tool family__get_family_details: description-changed, minor"},
		{"narrowed", `"minLength":1`, `"minLength":0`, "schema-changed, breaking"},
		{"read-only", `"readOnlyHint":true`, `"readOnlyHint":false`, "tool family__get_family_details: annotation-changed, dangerous"},
		{"destructive no more", `"destructiveHint":false`, `"destructiveHint":true`, "annotation-changed, dangerous"},
		{"hints given", `"readOnlyHint":true,"destructiveHint":false,`, ``, "destructiveHint: [-not set-]{+false+}"},
		{"open world", `"openWorldHint":false`, `"openWorldHint":true`, "annotation-changed, dangerous"},
		{"title", `{"annotations":{`, `{"title":"Details","annotations":{`, "annotation-changed, minor"},
		{"title among the annotations", `{"annotations":{`, `{"annotations":{"title":"Details",`, "annotation-changed, minor"},
		{"result", `"outputSchema":{"additionalProperties":false`, `"outputSchema":{"additionalProperties":true`, "output-schema-changed, breaking"},
		{"result promised", `"outputSchema":`, `"_meta":`, "output-schema-added, minor"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if err := os.WriteFile(tape, []byte(change(t, whole, `"server":"family","dir":"s2c"`, test.old, test.new)), 0o600); err != nil {
				t.Fatal(err)
			}
			code, stdout, stderr := evalRun(t, nowhere, "eval", "verify", file)
			if code != eval.ExitDrift || !strings.Contains(stdout, test.want) {
				t.Errorf("exit code %d, want %q: %s%s", code, test.want, stdout, stderr)
			}
			if code, stdout, _ := evalRun(t, nowhere, "eval", "run", "--live-tools", file); code != eval.ExitDrift || !strings.Contains(stdout, "drift tools.") {
				t.Errorf("a live run: exit code %d: %s", code, stdout)
			}
		})
	}
}

// TestEval_fromDrift: a changed prompt is judged by what comes of it: the tape is played up
// to the first request that differs, and the model is asked from there.
func TestEval_fromDrift(t *testing.T) {
	long(t, "a case is run five times against models")
	t.Parallel()
	file := recordedCase(t)
	config := filepath.Join(filepath.Dir(file), "molar.yaml")
	same := goldenModel(t, false)
	whatIf := func(url string, flags ...string) (int, string) {
		code, stdout, stderr := evalRun(t, url, append([]string{"eval", "run", file}, flags...)...)
		return code, stdout + stderr
	}
	if code, out := whatIf(nowhere, "--from-drift", "live"); code != 0 || strings.Contains(out, "left their tapes") {
		t.Errorf("nothing drifted: exit code %d: %s", code, out)
	}
	if err := os.WriteFile(config, []byte(strings.Replace(readText(t, config), "families.", "families, briefly.", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out := whatIf(same, "--from-drift", "live", "--trials", "2"); code != 0 || !strings.Contains(out, "2 runs left their tapes; same calls and answer: 2; same calls, other answer: 0; other calls: 0; since then 8 model calls") {
		t.Errorf("the same model: exit code %d: %s", code, out)
	}
	other := models.New(looksUp("Tran", false))
	url, err := other.Start(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	code, out := whatIf(url, "--from-drift", "live")
	for _, want := range []string{"same calls, other answer: 0; other calls: 1", `+   call family__search_family {"query":"Tran"}`} {
		if code != eval.ExitFailed || !strings.Contains(out, want) {
			t.Errorf("another model: exit code %d, want %q: %s", code, want, out)
		}
	}
	if code, out := whatIf(nowhere, "--from-drift", "offline"); code > eval.ExitFailed || !strings.Contains(out, "1 runs left their tapes") {
		t.Errorf("offline: exit code %d: %s", code, out)
	}
}

// TestEval_recordNamesConfig: a case names the config that it was recorded with, however
// that was found.
func TestEval_recordNamesConfig(t *testing.T) {
	t.Parallel()
	dir := filepath.Dir(recordedCase(t))
	file := filepath.Join(dir, "cases", "new.yaml")
	env := map[string]string{
		"HOME": t.TempDir(), "PATH": os.Getenv("PATH"), "OLLAMA_BASE_URL": goldenModel(t, false), "MOLAR_CONFIG": filepath.Join(dir, "molar.yaml"),
	}
	if code, out := molarIn(t, env, "eval", "record", "--provider", "ollama", "--out", file, "Find the family Nguyen"); code != 0 {
		t.Fatalf("exit code %d: %s", code, out)
	}
	if text := readText(t, file); !strings.Contains(text, "config: ../molar.yaml") {
		t.Errorf("the case names no config: %s", text)
	}
	if code, stdout, stderr := evalRun(t, nowhere, "eval", "run", file); code != 0 {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
}

// TestEval_liveSaysWho: the report of a live run names the model that answered; the report of a
// replay names none.
func TestEval_liveSaysWho(t *testing.T) {
	t.Parallel()
	file := recordedCase(t)
	_, stdout, stderr := evalRun(t, goldenModel(t, false), "eval", "run", "--live-model", "--json", "-", file)
	var rep eval.Report
	if err := json.Unmarshal([]byte(stdout), &rep); err != nil {
		t.Fatalf("%v: %s", err, stderr)
	}
	if !slices.Equal(rep.Run.Models, []string{"ollama qwen2.5:7b-instruct"}) {
		t.Errorf("live: %v", rep.Run.Models)
	}
	if _, rep, _ := reportOf(t, file); rep.Run.Models != nil {
		t.Errorf("replayed: %v", rep.Run.Models)
	}
}
