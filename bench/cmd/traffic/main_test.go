package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A folder with an answer whose printed call the plain reading takes for text.
func TestRun(t *testing.T) {
	t.Parallel()
	folder, known := t.TempDir(), filepath.Join(t.TempDir(), "known")
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(folder, "a.jsonl"), `{"method":"POST","url":"https://api.example/v1/chat/completions","status":200,`+
		`"request":{"model":"m","tools":[{"type":"function","function":{"name":"f"}}]},"response":{"choices":[{"message":{"content":"<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>"},"finish_reason":"stop"}]}}`)
	write(known, "a.jsonl#1\tthe model printed a call\n")
	output := filepath.Join(t.TempDir(), "report.json")
	for _, test := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{folder}, 1, "a.jsonl#1 (chat): whole: text: want"},
		{[]string{"-known", known, "-json", output, folder}, 0, "the model printed a call"},
		{[]string{"-by-folder", folder}, 1, "\n.    chat"},
		{[]string{"-by", "x", folder}, 2, "not defined"},
		{[]string{folder, folder}, 2, "one folder"},
		{[]string{"-known", folder, folder}, 2, "directory"},
		{[]string{filepath.Join(folder, "none")}, 2, "no such file"},
		{[]string{t.TempDir()}, 5, "no recorded answer"},
	} {
		var stdout strings.Builder
		code, err := run(test.args, &stdout)
		if all := fmt.Sprint(stdout.String(), err); code != test.code || !strings.Contains(all, test.want) {
			t.Errorf("%v: code %d, want %d\n%s", test.args, code, test.code, all)
		}
	}
	report, err := os.ReadFile(output)
	if err != nil || !json.Valid(report) || !strings.Contains(string(report), `"known":`) {
		t.Errorf("%s %v", report, err)
	}
}
