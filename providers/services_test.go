package providers_test

import (
	"testing"

	"molar/providers"
)

// Each line of the table has all fields that other packages need.
func TestServices(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, s := range providers.Services() {
		if seen[s.Name] {
			t.Errorf("%s stands twice in the table", s.Name)
		}
		seen[s.Name] = true
		for what, text := range map[string]string{
			"name": s.Name, "label": s.Label, "about in English": s.About.English, "about in Vietnamese": s.About.Vietnamese,
			"wire": s.Wire, "name for telemetry": s.Telemetry,
		} {
			if text == "" {
				t.Errorf("%q has no %s", s.Name, what)
			}
		}
		if !s.HasModels() {
			continue
		}
		for what, missing := range map[string]bool{
			"lowering": s.Lower == nil, "setup": s.Setup == "", "address": s.BaseURL == "", "model": s.Model == "", "small model": s.SmallModel == "",
			"key, and no command that fetches a model": len(s.Keys) == 0 && s.Fetch == "",
		} {
			if missing {
				t.Errorf("%s has no %s", s.Name, what)
			}
		}
	}
	names := providers.Names()
	if last := names[len(names)-1]; last != providers.Offline {
		t.Errorf("the last service is %s, and auto must end without a model", last)
	}
}

func TestHowToGetOne(t *testing.T) {
	t.Parallel()
	for want, words := range map[string][3]string{
		"set GEMINI_API_KEY, OPENAI_API_KEY or ANTHROPIC_API_KEY, or start Ollama":        {"set", "or", "start"},
		"Hãy đặt GEMINI_API_KEY, OPENAI_API_KEY hoặc ANTHROPIC_API_KEY, hoặc chạy Ollama": {"Hãy đặt", "hoặc", "chạy"},
	} {
		if got := providers.HowToGetOne(words[0], words[1], words[2]); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
