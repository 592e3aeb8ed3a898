package config

import (
	"cmp"
	"path"
	"reflect"
	"slices"
	"strings"

	"molar/providers"
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

// Service returns what is set of a provider as of any other; ok is false for one that has no
// models. Its block is the key of its name.
func (l LLM) Service(provider string) (h Hosted, ok bool) {
	v := reflect.ValueOf(l)
	at, ok := fieldsOf(v.Type()).Index[provider]
	if !ok {
		return Hosted{}, false
	}
	switch b := v.FieldByIndex(at).Interface().(type) {
	case Hosted:
		return b, true
	case Gemini:
		return b.Hosted, true
	case Ollama:
		return Hosted{BaseURL: b.BaseURL, Model: b.Model, SmallModel: b.SmallModel, Timeout: b.Timeout, Allow: b.Allow, Tuning: b.Tuning}, true
	}
	return Hosted{}, false
}

// Use sets the models and the address of a provider that are not empty; one without models
// has none to set.
func (l *LLM) Use(provider, model, small, address string) {
	wanted := map[string]string{"model": model, "small_model": small, "base_url": address}
	for _, leaf := range leaves("", reflect.ValueOf(l).Elem()) {
		service, key, _ := strings.Cut(leaf.Key, ".")
		if text := wanted[key]; service == provider && text != "" {
			leaf.Value.SetString(text)
		}
	}
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
	for _, provider := range providers.WithModels() {
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
			key := join("assistants", e.Name) + ".model"
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
		candidates = providers.WithModels()
	}
	known := false
	for _, name := range candidates {
		if name == providers.Offline || cfg.LLM.Missing(name) != "" {
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
