package config

import (
	"cmp"
	"path"
	"slices"
	"strings"
)

// Models returns the models that a file, a flag or a variable names for a provider;
// "" stands for a default.
func (cfg *Config) Models(provider string) (model, small string) {
	named := func(key, value string) string {
		if cfg.origins["llm."+provider+"."+key] == "" {
			return ""
		}
		return value
	}
	b, _ := cfg.LLM.Service(provider)
	return named("model", b.Model), named("small_model", b.SmallModel)
}

// Services are the providers that have models of their own.
func Services() []string { return []string{"gemini", "openai", "ollama"} }

// Service returns what is set of a provider as of any other; ok is false for one that has no
// models.
func (l LLM) Service(provider string) (h Hosted, ok bool) {
	switch provider {
	case "gemini":
		return l.Gemini.Hosted, true
	case "openai":
		return l.OpenAI, true
	case "ollama":
		o := l.Ollama
		return Hosted{BaseURL: o.BaseURL, Model: o.Model, SmallModel: o.SmallModel, Timeout: o.Timeout, Allow: o.Allow, Tuning: o.Tuning}, true
	}
	return Hosted{}, false
}

// A NamedModel is a model that the settings name at a provider.
type NamedModel struct {
	// Where is the place and the key that name it, such as
	// "molar.yaml:4: llm.ollama.model".
	Where           string
	Provider, Model string
}

// NamedModels lists the models that the settings name at providers which may answer.
func (cfg *Config) NamedModels() []NamedModel {
	var all []NamedModel
	add := func(key, provider, model string) {
		used := slices.Contains(cfg.LLM.Provider, provider) || slices.Contains(cfg.LLM.Provider, "auto")
		if model != "" && used {
			all = append(all, NamedModel{Where: cfg.at(key), Provider: provider, Model: model})
		}
	}
	for _, provider := range Services() {
		model, small := cfg.Models(provider)
		add("llm."+provider+".model", provider, model)
		add("llm."+provider+".small_model", provider, small)
	}
	for _, e := range cfg.Assistants {
		provider := e.Value.Provider
		if provider == "" && len(cfg.LLM.Provider) == 1 {
			provider = cfg.LLM.Provider[0]
		}
		if model := e.Value.Model; model != "" {
			key := Join("assistants", e.Name) + ".model"
			all = append(all, NamedModel{Where: cfg.at(key), Provider: provider, Model: model})
		}
	}
	return all
}

// at names a key and the place that set it.
func (cfg *Config) at(key string) string {
	if where := cfg.where(key); where != "" {
		return where + ": " + key
	}
	return key
}

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
		candidates = Services()
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
	b, ok := l.Service(provider)
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
