package config_test

import (
	"testing"

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
