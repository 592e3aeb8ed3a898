package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A folder with an answer whose printed call the plain reading takes for text.
func TestEvalTraffic(t *testing.T) {
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
	for _, tt := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{folder}, 1, "a.jsonl#1 (chat): whole: text: want"},
		{[]string{folder, "--known", known}, 0, "the model printed a call"},
		{[]string{folder, "--json", "-", "--known", known}, 0, `"known":`},
		{[]string{folder, "--by", "x"}, 2, "choose service or folder"},
		{[]string{folder, "--known", folder}, 2, "directory"},
		{[]string{filepath.Join(folder, "none")}, 2, "no such file"},
		{[]string{t.TempDir()}, 5, "no recorded answer"},
	} {
		code, stdout, stderr := evalRun(t, "", append([]string{"eval", "traffic"}, tt.args...)...)
		if code != tt.code || !strings.Contains(stdout+stderr, tt.want) {
			t.Errorf("%v: code %d, want %d\n%s%s", tt.args, code, tt.code, stdout, stderr)
		}
		if tt.args[len(tt.args)-1] == known && strings.HasPrefix(stdout, "{") && !json.Valid([]byte(stdout)) {
			t.Errorf("no JSON: %s", stdout)
		}
	}
}
