package config_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/internal/config"
)

func TestConfig_MayChoose(t *testing.T) {
	cfg, err := config.Load(config.Options{Explicit: true, Env: environ(t, "GEMINI_API_KEY", "k"), Path: write(t, `
default: a
llm:
  provider: [gemini, ollama]
  gemini: {model: g, small_model: gs, allow: ["pro-*"]}
  ollama: {model: o, small_model: os, allow: ["hf.co/*", both, "pro-1"]}
assistants:
  a: {system_prompt: x}
  b: {system_prompt: x, provider: ollama}
`)})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		assistant, provider, model string
		want                       bool
	}{
		{"a", "gemini", "g", true},
		{"a", "gemini", "gs", true},
		{"a", "gemini", "pro-9", true},
		{"a", "gemini", "o", false},
		{"a", "gemini", "", false},
		{"a", "ollama", "os", true},
		{"a", "ollama", "hf.co/me/model:7b", true},
		{"a", "ollama", "pro-9", false},
		{"a", "openai", "gpt-4.1-mini", false}, // it has no key
		{"a", "offline", "x", false},
		{"a", "nobody", "x", false},
		{"a", "", "pro-1", true},
		{"a", "", "pro-9", false}, // ollama may have to answer
		{"a", "auto", "pro-1", true},
		{"a", "auto", "g", false},
		{"b", "", "hf.co/x", true}, // its provider is ollama
		{"b", "", "g", false},
		{"b", "gemini", "g", true},
		{"", "", "pro-1", true}, // a is the default
	} {
		if got := cfg.MayChoose(tt.assistant, tt.provider, tt.model); got != tt.want {
			t.Errorf("%+v: %v", tt, got)
		}
	}
	if _, err := config.Load(config.Options{Explicit: true, Env: environ(t), Path: write(t, "llm: {ollama: {allow: [\"[\"]}}\n")}); err == nil {
		t.Error("a broken glob is taken")
	}
}

// OPENAI_API_KEY is sent only to OpenAI; the key of a section is sent to the address of that
// section.
func TestLLM_Key(t *testing.T) {
	const own = "base_url: 'http://127.0.0.1:8080/v1'"
	env := []string{"OPENAI_API_KEY", "sk-openai", "GEMINI_API_KEY", "g", "MINE", "mk"}
	for text, want := range map[string]string{
		"":                                       "sk-openai",
		"key: '${MINE}'":                         "mk",
		own:                                      "",
		own + ", key: '${MINE}'":                 "mk",
		own + ", key: '${OPENAI_API_KEY}'":       "sk-openai",
		"base_url: 'https://API.openai.com/v1/'": "sk-openai",
		"base_url: 'https://eu.api.openai.com/v1'":        "sk-openai",
		"base_url: 'https://api.openai.com.evil.test/v1'": "",
		"base_url: 'https://notapi.openai.com/v1'":        "",
	} {
		cfg := mustLoad(t, "llm: {openai: {"+text+"}}\n", env...)
		if got := cfg.LLM.Key("openai").Reveal(); got != want {
			t.Errorf("%s: key %q, want %q", text, got, want)
		}
		if got := cfg.LLM.Key("gemini").Reveal(); got != "g" {
			t.Errorf("%s: gemini's key %q", text, got)
		}
	}
	if cfg := mustLoad(t, "llm: {provider: gemini, gemini: {key: '${MINE}'}}\n", "MINE", "mk"); cfg.LLM.Key("gemini").Reveal() != "mk" {
		t.Error("gemini's own key is not taken")
	}
	_, err := load(t, "llm: {openai: {key: canary, headers: {x.key: plain}}}\n")
	if err == nil || !strings.Contains(err.Error(), "llm.openai.key: keys do not belong in this file; write ${NAME}, and put NAME=… into ") ||
		strings.Contains(err.Error(), "canary") || strings.Contains(err.Error(), "headers") {
		t.Errorf("a key in the file: %v", err)
	}
	before, after := mustLoad(t, "llm: {openai: {key: '${A}'}}\n", append(env, "A", "1", "XDG_DATA_HOME", "/x")...), mustLoad(t, "llm: {openai: {key: '${A}'}}\n", append(env, "A", "2", "XDG_DATA_HOME", "/x")...)
	if diff := cmp.Diff([]string{"llm.openai.key"}, before.Changed(after)); diff != "" {
		t.Errorf("changed (-want +got):\n%s", diff)
	}
}
