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
)

// A spoiling is one way to spoil the shipped suites: an edit of a file, in the first line that
// contains both texts, and the failure that a replay must report.
type spoiling struct {
	name, id, file  string
	line, old, with string
	// class is the first drift, code the exit code, and why a part of the cause.
	class string
	code  int
	why   string
}

const (
	familySettings = "examples/family/molar.yaml"
	familyCases    = "eval/suites/family/cases.yaml"
	details        = "eval/suites/family/tapes/family-details.tape.jsonl"
	search         = "eval/suites/family/tapes/family-search.tape.jsonl"
	ownConfig      = "eval/suites/providers/molar.own.yaml"
	ownTape        = "eval/suites/providers/tapes/providers-own.tape.jsonl"
)

const (
	cut  = "(cut)"  // takes away the rest of a file
	lost = "(lost)" // takes away the line
	twin = "eval/suites/family/tapes/family-two-details.tape.jsonl"
)

func spoilings() []spoiling {
	drift := func(name, id, file, line, old, with, class, why string) spoiling {
		return spoiling{name, id, file, line, old, with, class, eval.ExitDrift, why}
	}
	failed := func(name, id, file, line, old, with, why string) spoiling {
		return spoiling{name, id, file, line, old, with, "", eval.ExitFailed, why}
	}
	refused := func(name, id, file, line, old, with, why string) spoiling {
		return spoiling{name, id, file, line, old, with, "", cli.Misuse, why}
	}
	return []spoiling{
		drift("a word of the prompt", "family-details", familySettings, "helpful", "helpful", "friendly", "system", "friendly"),
		drift("a line more in the prompt", "family-search", familySettings, "birth, and", "nothing was found.", "nothing was found. Be brief.", "system", "Be brief"),
		drift("the prompt of an assistant with a topic", "sdi-search", "examples/sdi/molar.yaml", "system_prompt", "system_prompt: |", "system_prompt: |\n      Be brief.", "system", "Be brief"),
		drift("a server removed", "family-details", familySettings, "", "\nmcpServers:", cut, "config", "removed or renamed"),
		drift("a server renamed", "family-details", familySettings, "  family:", "\n  family:\n    command", "\n  kin:\n    command", "config", "it has kin"),
		drift("a tool left out", "family-details", familySettings, "command: molar", "command: molar", "command: molar\n    excludeTools: [search_family]", "tools.schema", "search_family"),
		drift("the assistant's tools narrowed", "family-details", familySettings, "tools:", "family__*", "family__get*", "tools.schema", "search_family"),
		drift("a tool denied", "family-search", familySettings, "command: molar", "command: molar", "command: molar\n    tools: {\"search_family\": {policy: deny}}", "tools.schema", "search_family"),
		drift("a tool that must be confirmed", "family-details", familySettings, "command: molar", "command: molar", "command: molar\n    tools: {\"*\": {policy: confirm}}", "result", "approv"),
		refused("the assistant renamed", "family-details", familySettings, "", "\n  family:\n    description", "\n  kin:\n    description", "there are: kin"),
		drift("another flow", "family-search", familySettings, "flow:", "two-pass", "agentic", "config", "toolConfig"),
		drift("another model", "family-details", familySettings, "default: family", "default: family", "default: family\nllm: {ollama: {model: other}}", "config", "other"),
		drift("another small model", "family-details", familySettings, "default: family", "default: family", "default: family\nllm: {ollama: {small_model: other}}", "config", "other"),
		drift("another provider", "providers-own", ownConfig, "llm:", "gemini", "ollama", "config", "ollama"),
		drift("another provider of the assistant", "providers-own", ownConfig, "provider: openai", "openai", "gemini", "config", "gemini"),
		drift("a temperature", "family-details", familySettings, "default: family", "default: family", "default: family\nllm: {ollama: {temperature: 0.7}}", "config", "temperature"),
		drift("tools of everything narrowed", "providers-own", ownConfig, "tools:", `"*"`, `"*", "!*search"`, "tools.schema", "dental_guide_search"),
		drift("the question", "family-details", familyCases, "Show me", "Show me detail", "Show me the details of", "messages", "the details of"),
		drift("a description on the tape", "family-details", details, `"inputSchema"`, "Show a family", "Print a family", "tools.description", "family__get_family_details"),
		drift("a schema on the tape", "family-search", search, `"inputSchema"`, `"minLength":1`, `"minLength":2`, "tools.schema", "family__search_family"),
		drift("a tool renamed on the tape", "family-search", search, `"inputSchema"`, `"name":"get_family_details"`, `"name":"get_details"`, "tools.schema", "get_family_details"),
		drift("an argument of the model's call", "family-details", details, `"type":"model_chunk"`, "1a955fff-ce01", "1a955fff-ce02", "call.args", "ce02"),
		drift("the name of the model's call", "family-details", details, `"type":"model_chunk"`, "family__get_family_details", "family__get_family_detail", "call.name", "get_family_detail"),
		drift("an argument that reached the server", "family-details", details, `"method":"tools/call"`, "1a955fff-ce01", "1a955fff-ce02", "call.args", "ce02"),
		drift("the tool that was called", "family-details", details, `"method":"tools/call"`, "get_family_details", "search_family", "call.extra", "get_family_details"),
		drift("a result", "family-details", details, `"structuredContent"`, `"1970-01-01"`, `"1970-01-02"`, "result", ""),
		drift("a part of a result that nobody reads", "family-details", details, `"structuredContent"`, "has 2 members", "has two members", "result", ""),
		drift("a result that becomes an error", "family-details", details, `"structuredContent"`, `"result":{"content"`, `"result":{"isError":true,"content"`, "result", ""),
		drift("the answer", "family-details", details, `"type":"answer"`, "has 2 members", "has 3 members", "answer", "3 members"),
		drift("what the model said", "family-details", details, `"type":"model_chunk","seq":7`, "Nguyen ", "Tran ", "answer", "Tran"),
		drift("the verdict", "dental-caries", "eval/suites/dental/tapes/dental-caries.tape.jsonl", `"decision"`, "pass", "refuse", "guardrail", "refuse"),
		drift("a request on the tape", "family-details", details, `"pass":"tool"`, "You are a helpful", "You are a sleepy", "system", "sleepy"),
		drift("a setting on the tape", "family-details", details, `"pass":"tool"`, `"temperature":0`, `"temperature":1`, "config", "temperature"),
		drift("the address", "family-details", details, `"pass":"tool"`, `"path":"/api/chat"`, `"path":"/api/generate"`, "transport", "/api/generate"),
		drift("whole instead of streamed", "family-search", search, `"pass":"tool"`, ":streamGenerateContent", ":generateContent", "transport", "generateContent"),
		drift("a lost signature", "family-search", search, `"pass":"answer"`, `"thoughtSignature":`, `"thoughtSigned":`, "signature", ""),
		drift("a status", "family-details", details, `"type":"model_end","seq":5`, `"status":200`, `"status":400`, "turn.failed", "400"),
		drift("a model call the less", "family-details", details, `"type":"model_request","seq":7`, `"pass":"answer"`, `"pass":"probe"`, "model.extra", "answer"),
		refused("a call in the other turn", "family-follow-up", "eval/suites/family/tapes/family-follow-up.tape.jsonl", `"method":"tools/call"`, `"turn":1`, `"turn":2`, "in turn 1 to a request of turn 2"),
		drift("one of two parallel calls", "family-two-details", twin, `"method":"tools/call"`, "9e2f6d14-38b1", "9e2f6d15-38b1", "call.args", "9e2f6d15"),
		drift("a result of the other call", "family-two-details", twin, `"pass":"answer"`, `"tool_call_id":"call_0"`, `"tool_call_id":"call_1"`, "result", "the result of call 2"),
		drift("a result of no call", "family-two-details", twin, `"pass":"answer"`, `"tool_call_id":"call_1"`, `"tool_call_id":"wrong"`, "result", "the result of no call"),
		drift("the line of the question", "family-details", details, `"type":"user"`, `"user"`, lost, "messages", "has lost its line"),
		drift("the line of the answer", "family-details", details, `"type":"answer"`, `"answer"`, lost, "answer", "has lost its line"),
		drift("the line of a result", "family-details", details, `"type":"tool_result"`, `"tool_result"`, lost, "result", "has lost its line"),
		failed("an expected argument", "family-details", familyCases, "get_family_details, args", "1a955fff-ce01-422f-8bb3-02ab14e8ec47", "1a955fff-ce01-422f-8bb3-02ab14e8ec48", "ec48"),
		failed("an expected text", "family-details", familyCases, "Nguyen Van A", "1995-05-05", "1996-05-05", "1996-05-05"),
		failed("a limit", "family-details", familyCases, "llm_calls: 2", "llm_calls: 2", "llm_calls: 1", "limit"),
		failed("an expected verdict", "dental-caries", "eval/suites/dental/cases.yaml", "guardrail: pass", "pass", "refuse", "guardrail"),
		drift("a chunk lost", "family-details", details, `"type":"model_chunk","seq":7`, `"model_chunk"`, lost, "answer", ""),
		refused("a turn that is there twice", "family-follow-up", "eval/suites/family/tapes/family-follow-up.tape.jsonl", `"type":"user","turn":2`, `"turn":2`, `"turn":1`, "family-follow-up.tape.jsonl:"),
		refused("a broken line", "family-details", details, `"pass":"tool"`, `{"type"`, `{"type`, "family-details.tape.jsonl:"),
		refused("a tape of another case", "family-details", details, `"header"`, `"case":"family-details"`, `"case":"family-search"`, "family-search"),
		refused("a newer tape", "family-details", details, `"header"`, `"v":3`, `"v":9`, "newer"),
		refused("a version that asks for no hashes", "family-details", details, `"header"`, `"v":3`, `"v":2`, "of a newer version"),
		refused("an unknown key", "family-details", familyCases, "llm_calls: 2", "llm_calls", "llm_call", "llm_call"),
		refused("a broken config", "family-details", familySettings, "assistants:", "assistants:", "asistants:", "asistants"),
	}
}

// TestEval_spoilt: each way to spoil a copy of the suites that ship is seen, with its cause.
func TestEval_spoilt(t *testing.T) {
	long(t, "each spoiling is a replay")
	t.Parallel()
	dir := t.TempDir()
	for _, folder := range []string{"eval/suites", "examples"} {
		if err := os.CopyFS(filepath.Join(dir, folder), os.DirFS("../../"+folder)); err != nil {
			t.Fatal(err)
		}
	}
	seen := 0
	all := spoilings()
	for _, s := range all {
		t.Run(s.name, func(t *testing.T) {
			file := filepath.Join(dir, s.file)
			whole := readText(t, file)
			if err := os.WriteFile(file, []byte(s.spoil(t, whole)), 0o600); err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := os.WriteFile(file, []byte(whole), 0o600); err != nil {
					t.Error(err)
				}
			}()
			code, stdout, stderr := evalRun(t, nowhere, "eval", "run", "--quiet", "--json", "-", "--id", s.id, filepath.Join(dir, "eval/suites"))
			var rep eval.Report
			if err := json.Unmarshal([]byte(stdout), &rep); err != nil {
				t.Fatalf("exit code %d: %v: %s", code, err, stderr)
			}
			class, why := "", ""
			if len(rep.Cases) > 0 {
				why = rep.Cases[0].Why
				if drifts := rep.Cases[0].Drift; len(drifts) > 0 {
					class = drifts[0].Class
				}
			}
			if code != s.code || class != s.class || !strings.Contains(why, s.why) {
				t.Errorf("exit code %d, drift %q, want %d and %q with %q: %s", code, class, s.code, s.class, s.why, why)
				return
			}
			seen++
		})
	}
	t.Logf("%d of %d seen", seen, len(all))
}

// spoil makes the edit. A text that goes over a line's end is replaced as it is.
func (s *spoiling) spoil(t *testing.T, text string) string {
	t.Helper()
	if strings.Contains(s.old, "\n") {
		if !strings.Contains(text, s.old) {
			t.Fatalf("%s does not hold %q", s.file, s.old)
		}
		if before, _, _ := strings.Cut(text, s.old); s.with == cut {
			return before + "\n"
		}
		return strings.Replace(text, s.old, s.with, 1)
	}
	lines := strings.SplitAfter(text, "\n")
	at := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, s.line) && strings.Contains(l, s.old) })
	if at < 0 {
		t.Fatalf("%s has no line with %q and %q", s.file, s.line, s.old)
	}
	lines[at] = strings.Replace(lines[at], s.old, s.with, 1)
	if s.with == lost {
		lines[at] = ""
	}
	return strings.Join(lines, "")
}
