package main

import (
	"encoding/json"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"molar/internal/testkit/models"
)

// A turn whose question the small model worded anew shows the queries, is recorded with that call, also from
// its trace, and is replayed.
func TestEval_wordedAnew(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(models.New(models.Config{Tokens: 3, Models: []string{"m"}, Script: func(r models.Request) *models.Reply {
		if strings.Contains(r.Body, "You word searches") {
			return models.Text(`{"queries":["water damage","guarantee of watches"]}`)
		}
		return nil
	}}))
	t.Cleanup(server.Close)
	dir := t.TempDir()
	config := filepath.Join(dir, "molar.yaml")
	for name, text := range map[string]string{
		"molar.yaml": "listen: 127.0.0.1:9\nllm: {provider: [ollama], ollama: {base_url: \"" + server.URL + "\", model: m, small_model: m}}\n" +
			"knowledge:\n  handbook: {path: docs, languages: [en], description: The rules of a shop of watches.}\nassistants:\n  helper: {search: [handbook]}\ndefault: helper\n",
		"docs/returns.md": "# Returns\n\nWater damage: the guarantee of watches covers it for one year.\n",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env := map[string]string{"HOME": dir, "PATH": os.Getenv("PATH")}
	const question = "My ticker drowned at the pool, who mends it?"
	recorded, traced := filepath.Join(dir, "recorded.yaml"), filepath.Join(dir, "traced.yaml")
	if code, out := molarIn(t, env, "eval", "record", "--config", config, "--out", recorded, question); code != 0 {
		t.Fatalf("record: exit code %d: %s", code, out)
	}
	code, out := molarIn(t, env, "chat", "--config", config, "--output-format", "json", question)
	var answer struct {
		ID string `json:"turn_id"`
	}
	_, object, _ := strings.Cut(out, "{") // after the log
	if err := json.Unmarshal([]byte("{"+object), &answer); err != nil || code != 0 {
		t.Fatalf("chat: exit code %d, %v: %s", code, err, out)
	}
	code, out = molarIn(t, env, "turns", "show", "--config", config, answer.ID)
	for _, want := range []string{"queries pass", `{"queries":["water damage","guarantee of watches"]}`, "- handbook (en): The rules of a shop of watches.", "worded it anew"} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("turns show: exit code %d, no %q: %s", code, want, out)
		}
	}
	if code, out := molarIn(t, env, "eval", "record", "--config", config, "--turn", answer.ID, "--out", traced); code != 0 {
		t.Fatalf("record the turn: exit code %d: %s", code, out)
	}
	for _, file := range []string{recorded, traced} {
		if tape := readText(t, strings.TrimSuffix(file, ".yaml")+".tape.jsonl"); !strings.Contains(tape, `"pass":"queries"`) {
			t.Errorf("%s has no call for queries", file)
		}
		if code, out := molarIn(t, env, "eval", "run", "--config", config, file); code != 0 {
			t.Errorf("%s: exit code %d: %s", file, code, out)
		}
	}
}
