package config_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/schemas"
)

func TestConfig_Settings(t *testing.T) {
	const text = `llm:
  ollama:
    base_url: http://ollama.test:11434/canary2
    model: ${MODEL}
memory:
  store: postgres://me:canary4@db.test/molar?password=canary5
assistants:
  helper: {system_prompt: canary6, tools: ["family__*"], model: m}
mcpServers:
  family: {command: /bin/family, args: [--token, canary7], env: {KEY: "${TOKEN}"}, pin: true}
  far: {url: "https://far.test/canary9", headers: {Authorization: Bearer canary10}}
api_keys:
  - {name: team, key: "${TEAM}", scopes: [chat, admin]}
`
	cfg := mustLoad(t, text, "XDG_DATA_HOME", t.TempDir(), "MODEL", "qwen", "TOKEN", "canary8", "GEMINI_API_KEY", "canary11",
		"TEAM", "canary12canary12canary12canary12", "MOLAR_LIMITS_ROUNDS", "4")
	found := map[string]schemas.Setting{}
	for _, s := range cfg.Settings() {
		if _, twice := found[s.Key]; twice {
			t.Errorf("%s is listed twice", s.Key)
		}
		if i := strings.LastIndexByte(s.Origin, '/'); i >= 0 {
			s.Origin = s.Origin[i+1:]
		}
		found[s.Key] = s
	}
	for _, want := range []schemas.Setting{
		{Key: "listen", Value: "127.0.0.1:8000"},
		{Key: "llm.ollama.base_url", Value: "http://ollama.test:11434", Origin: "molar.yaml:3"},
		{Key: "llm.ollama.model", Value: "qwen", Origin: "molar.yaml:4"},
		{Key: "memory.store", Value: "postgres://db.test", Origin: "molar.yaml:6"},
		{Key: "assistants.helper", Value: "model m, tools family__*", Origin: "molar.yaml:8"},
		{Key: "mcpServers.family", Value: "command family, pin", Origin: "molar.yaml:10"},
		{Key: "mcpServers.far", Value: "https://far.test", Origin: "molar.yaml:11"},
		{Key: "api_keys[0]", Value: "team (chat, admin)", Origin: "molar.yaml:13"},
		{Key: "limits.rounds", Value: "4", Origin: "MOLAR_LIMITS_ROUNDS"},
		{Key: "GEMINI_API_KEY", Value: "***", Origin: "environment", Secret: true},
		{Key: "OPENAI_API_KEY"},
		{Key: "llm.ollama.small_model", Value: "qwen2.5:3b-instruct"},
	} {
		if diff := cmp.Diff(want, found[want.Key]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", want.Key, diff)
		}
	}
	out, err := json.Marshal(cfg.Settings())
	if err != nil || strings.Contains(string(out), "canary") {
		t.Errorf("a secret is shown (%v): %s", err, out)
	}
}
