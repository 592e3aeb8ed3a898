package config

import (
	"cmp"
	"path"
	"slices"
	"strings"
)

// MayChoose reports whether a client with an API key may choose the model of the
// provider: it is one that the file names there, or its allow list takes it. Where the
// request leaves the provider open (empty or auto), each one that may answer must have it.
func (cfg *Config) MayChoose(assistant, provider, model string) bool {
	if as, ok := cfg.Assistants.Get(cmp.Or(assistant, cfg.Default)); ok && provider == "" {
		provider = as.Provider
	}
	candidates := []string{provider}
	if provider == "" {
		candidates = cfg.LLM.Provider
	}
	if slices.Contains(candidates, "auto") {
		candidates = []string{"gemini", "openai", "ollama"}
	}
	known := false
	for _, name := range candidates {
		if name == "offline" || cfg.LLM.Missing(name) != "" {
			continue // has no model to choose, or cannot answer
		}
		if !cfg.LLM.allows(name, model) {
			return false
		}
		known = true
	}
	return known
}

func (l LLM) allows(provider, model string) bool {
	blocks := map[string]Hosted{
		"gemini": l.Gemini, "openai": l.OpenAI,
		"ollama": {Model: l.Ollama.Model, SmallModel: l.Ollama.SmallModel, Allow: l.Ollama.Allow},
	}
	b, ok := blocks[provider]
	if !ok {
		return false
	}
	// A star takes a slash too: it is a common part of a model's name.
	plain := strings.NewReplacer("/", "|")
	return model == b.Model || model == b.SmallModel || slices.ContainsFunc(b.Allow, func(glob string) bool {
		ok, _ := path.Match(plain.Replace(glob), plain.Replace(model)) // checked when the file was read
		return ok
	})
}
