package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// followSkill is a model that reads the skill of the task, then a file that it names, and does what stands there.
func followSkill(body string) saidAnswer {
	read := func(arguments string) saidAnswer {
		return saidAnswer{calls: [][2]string{{"read_skill", arguments}}}
	}
	switch {
	case !strings.Contains(body, "- refund: Customers who want money back."):
		return saidAnswer{text: "No skill fits."}
	case strings.Contains(body, "RA-77"):
		return saidAnswer{text: "Send it back under RA-77."}
	case strings.Contains(body, "Take the number from"):
		return read(`{"name":"refund","file":"references/numbers.md"}`)
	}
	return read(`{"name":"refund"}`)
}

// A turn reads a skill and follows it, whatever the wire; its trace tells so, and it replays. A replay reads the
// skill as it is now, and says what has changed.
func TestSkills_aTurn(t *testing.T) {
	t.Parallel()
	for _, provider := range []string{"gemini", "openai", "anthropic", "ollama"} {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			url, home, dir := wiresThatSay(t, followSkill), t.TempDir(), t.TempDir()
			env := func(name string) (string, bool) {
				v, ok := map[string]string{
					"HOME": home, "PATH": os.Getenv("PATH"), "OLLAMA_BASE_URL": url, "GEMINI_API_KEY": "a-key-for-tests", "OPENAI_API_KEY": "a-key-for-tests", "ANTHROPIC_API_KEY": "a-key-for-tests",
				}[name]
				return v, ok
			}
			molar := func(args ...string) (int, string, string) {
				var out, errs bytes.Buffer
				code := execute(t.Context(), args, env, strings.NewReader(""), &out, &errs)
				return code, out.String(), errs.String()
			}
			write := func(name, text string) string {
				path := filepath.Join(dir, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				return path
			}
			config := write("molar.yaml", fmt.Sprintf("listen: 127.0.0.1:9\nllm:\n  gemini: {base_url: %[1]s}\n  openai: {base_url: %[1]s}\n  anthropic: {base_url: %[1]s}\nassistants:\n  shop: {system_prompt: You help customers., skills: [skills]}\n", url))
			write("skills/refund/references/numbers.md", "The number is RA-77.")
			skill := write("skills/refund/SKILL.md", "---\nname: refund\ndescription: Customers who want money back.\n---\nTake the number from references/numbers.md.\n")
			code, stdout, stderr := molar("chat", "--config", config, "--provider", provider, "--output-format", "json", "I want my money back")
			var answer struct {
				ID   string `json:"turn_id"`
				Text string `json:"answer"`
			}
			if err := json.Unmarshal([]byte(stdout), &answer); err != nil || code != 0 || !strings.Contains(stdout, "Send it back under RA-77.") {
				t.Fatalf("chat: exit code %d, %v: %s%s", code, err, stdout, stderr)
			}
			if _, shown, _ := molar("turns", "show", "--config", config, answer.ID); !strings.Contains(shown, "\nskills: refund\n  read {") || !strings.Contains(shown, "references/numbers.md") {
				t.Errorf("the trace: %s", shown)
			}
			file := filepath.Join(dir, "case.yaml")
			if code, stdout, stderr = molar("eval", "record", "--config", config, "--turn", answer.ID, "--out", file); code != 0 || !strings.Contains(stdout, "replayed: it passes") {
				t.Fatalf("record: exit code %d: %s%s", code, stdout, stderr)
			}
			if code, stdout, stderr = molar("eval", "run", file); code != 0 {
				t.Errorf("replay: exit code %d: %s%s", code, stdout, stderr)
			}
			write("skills/refund/SKILL.md", "---\nname: refund\ndescription: Customers who want money back.\n---\nTake the number from references/numbers.md, and be kind.\n")
			if code, stdout, stderr = molar("eval", "run", file); code == 0 || !strings.Contains(stdout+stderr, "and be kind") {
				t.Errorf("replay with another skill: exit code %d: %s%s", code, stdout, stderr)
			}
			if err := os.RemoveAll(filepath.Dir(filepath.Dir(skill))); err != nil {
				t.Fatal(err)
			}
			if code, stdout, stderr = molar("eval", "run", file); code == 0 || !strings.Contains(stdout+stderr, "is not a folder that can be read") {
				t.Errorf("replay without the skills: exit code %d: %s%s", code, stdout, stderr)
			}
		})
	}
}
