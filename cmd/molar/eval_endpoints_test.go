package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"molar/eval"
)

// A config with named endpoints is recorded and replayed, with the config as it was and with one that no
// longer names them; also from the trace of a turn.
func TestEval_namedEndpoints(t *testing.T) {
	t.Parallel()
	url := threeWires(t)
	for _, api := range []string{"openai", "gemini", "ollama"} {
		t.Run(api, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			config, key, path := filepath.Join(dir, "molar.yaml"), `, key: "${FAR_KEY}"`, ""
			switch api {
			case "ollama":
				key = ""
			case "openai":
				path = "/v1"
			}
			endpoints := "llm:\n  provider: [far]\n  small: judge\n  providers:\n    far: {api: " + api + ", base_url: \"" + url + path + "\"" + key + "}\n" +
				"    judge: {api: openai, base_url: \"" + url + "/v1\"}\n"
			if err := os.WriteFile(config, []byte("listen: 127.0.0.1:9\n"+endpoints), 0o600); err != nil {
				t.Fatal(err)
			}
			env := map[string]string{"HOME": dir, "PATH": os.Getenv("PATH"), "FAR_KEY": "a-key-for-tests"}
			recorded, traced := filepath.Join(dir, "recorded.yaml"), filepath.Join(dir, "traced.yaml")
			const question = "What causes caries in children?" // the judge is asked
			if code, out := molarIn(t, env, "eval", "record", "--config", config, "--out", recorded, question); code != 0 {
				t.Fatalf("record: exit code %d: %s", code, out)
			}
			tape := readText(t, filepath.Join(dir, "recorded.tape.jsonl"))
			for _, want := range []string{`"provider":"far","service":"` + api + `"`, `"judge":{"provider":"judge","service":"openai"`} {
				if !strings.Contains(tape, want) {
					t.Errorf("the tape has no %s", want)
				}
			}
			if strings.Contains(tape, "a-key-for-tests") {
				t.Error("the key is on the tape")
			}
			code, out := molarIn(t, env, "chat", "--config", config, "--output-format", "json", question)
			var answer struct {
				ID string `json:"turn_id"`
			}
			_, object, _ := strings.Cut(out, "{") // after the log
			if err := json.Unmarshal([]byte("{"+object), &answer); err != nil || code != 0 {
				t.Fatalf("chat: exit code %d, %v: %s", code, err, out)
			}
			if code, out := molarIn(t, env, "eval", "record", "--config", config, "--turn", answer.ID, "--out", traced); code != 0 {
				t.Fatalf("record the turn: exit code %d: %s", code, out)
			}
			replay := map[string]string{"HOME": t.TempDir(), "PATH": os.Getenv("PATH")}
			for _, file := range []string{recorded, traced} {
				if code, out := molarIn(t, replay, "eval", "run", file); code != 0 {
					t.Errorf("%s: exit code %d: %s", file, code, out)
				}
			}
			if err := os.WriteFile(config, []byte("listen: 127.0.0.1:9\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			// The change of the config is the only difference: the tape says what its endpoints speak.
			code, out = molarIn(t, replay, "eval", "run", recorded)
			if code != eval.ExitDrift || strings.Count(out, "drift ") != 1 || !strings.Contains(out, "provider [-far") {
				t.Errorf("without the endpoints: exit code %d: %s", code, out)
			}
		})
	}
}
