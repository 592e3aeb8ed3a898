package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	cases = `{"id":"simple_python_0","function":[{"name":"trip","parameters":{"type":"dict","properties":{"city":{"type":"string"},"days":{"type":"integer"}},"required":["city"]}}]}
{"id":"simple_python_1","function":[{"name":"trip","parameters":{"type":"dict","properties":{"city":{"type":"string"},"days":{"type":"integer"}},"required":["city"]}}]}
{"id":"irrelevance_0","function":[{"name":"trip","parameters":{"type":"dict","properties":{}}}]}
`
	answers = `{"id":"simple_python_0","ground_truth":[{"trip":{"city":["New York, NY"],"days":[3,""]}}]}
{"id":"simple_python_1","ground_truth":[{"trip":{"city":["New York, NY"],"days":[3,""]}}]}
`
	calls = `{"id":"simple_python_0","tool_calls":[{"id":"c","function":{"name":"trip","arguments":"{\"city\":\"New York, NY\",\"days\":3}"}}]}
{"id":"simple_python_1","tool_calls":[{"id":"c","function":{"name":"trip","arguments":{"city":"newyork ny","days":3}}}]}
{"id":"simple_python_0","tool_calls":[{"id":"c","function":{"name":"trip","arguments":"{\"city\":\"New York, NY\",\"days\":\"3\"}"}}]}
{"id":"simple_python_0","tool_calls":[]}
{"id":"irrelevance_0","tool_calls":[]}
`
	verdicts = `{"id":"simple_python_0","valid":true,"reason":""}
{"id":"simple_python_1","valid":true,"reason":""}
{"id":"simple_python_0","valid":false,"reason":"type_error:simple: argument \"days\": expected int, got str"}
{"id":"simple_python_0","valid":false,"reason":"simple_function_checker:wrong_count: expected 1 call, got 0"}
{"id":"irrelevance_0","valid":true,"reason":""}
`
)

// TestRun judges calls line by line, in order.
func TestRun(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"cases.json": cases, "answers.json": answers, "calls.jsonl": calls,
		"unknown.jsonl": `{"id":"simple_python_9","tool_calls":[]}`, "broken.json": "\n{\"id\":\n", "empty.jsonl": "\n", "list.jsonl": `[{"id":"simple_python_0"}]`,
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct{ args, stdout, stderr, err string }{
		{args: "-cases cases.json -answers answers.json -calls calls.jsonl", stdout: verdicts, stderr: "3 of 5 lines are valid\n"},
		{args: "-gate 0.6 -cases cases.json -answers answers.json -calls calls.jsonl", stdout: verdicts, stderr: "3 of 5 lines are valid\n"},
		{args: "-gate 0.61 -cases cases.json -answers answers.json -calls calls.jsonl", stdout: verdicts, err: "the share of valid lines is 0.6000, and -gate wants 0.61"},
		{args: "-gate 2 -cases cases.json -calls calls.jsonl", err: "give a share between 0 and 1"},
		{args: "-cases cases.json -calls unknown.jsonl", stdout: "{\"id\":\"simple_python_9\",\"valid\":false,\"reason\":\"no case has this id\"}\n", err: "1 lines have an id that no case has"},
		{args: "-cases cases.json -cases cases.json -calls calls.jsonl", err: "is there twice"},
		{args: "-cases cases.json -calls empty.jsonl", err: "empty.jsonl: there is no line to judge"},
		{args: "-cases cases.json -calls list.jsonl", err: "list.jsonl:1: a line must be one JSON object"},
		{args: "-cases cases.json", err: "no such file"},
		{args: "-cases broken.json -calls calls.jsonl", err: "broken.json:2:"},
	} {
		var stdout, stderr bytes.Buffer
		err := run(strings.Fields(test.args), &stdout, &stderr)
		if test.err == "" != (err == nil) || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%s: error %v, want %q", test.args, err, test.err)
		}
		if diff := cmp.Diff(test.stdout, stdout.String()); diff != "" {
			t.Errorf("%s: %s", test.args, diff)
		}
		if err == nil && stderr.String() != test.stderr {
			t.Errorf("%s: says %q, want %q", test.args, stderr.String(), test.stderr)
		}
	}
}
