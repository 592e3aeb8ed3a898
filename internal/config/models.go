package config

import (
	"cmp"
	"path"
	"reflect"
	"slices"
	"strings"

	"molar/providers"
)

// Models returns the models of a provider that the file, a flag or a variable sets; "" if it is the
// default.
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

// Service returns the settings that all providers have in common, from the section with the
// provider's name; ok is false if the provider has no models.
func (l LLM) Service(provider string) (h Hosted, ok bool) {
	v := reflect.ValueOf(l)
	at, ok := fieldsOf(v.Type()).Index[provider]
	if !ok {
		return Hosted{}, false
	}
	switch b := v.FieldByIndex(at).Interface().(type) {
	case Hosted: // of a service without further settings
		return b, true
	case OpenAI:
		return b.Hosted, true
	case Gemini:
		return b.Hosted, true
	case Ollama:
		return Hosted{BaseURL: b.BaseURL, Model: b.Model, SmallModel: b.SmallModel, Timeout: b.Timeout, Allow: b.Allow, Tuning: b.Tuning}, true
	}
	return Hosted{}, false
}

// SetService sets the models and the address of a provider, as far as they are not empty. It does
// nothing for a provider without models.
func (l *LLM) SetService(provider, model, small, address string) {
	values := map[string]string{"model": model, "small_model": small, "base_url": address}
	for _, leaf := range leaves("", reflect.ValueOf(l).Elem()) {
		service, key, _ := strings.Cut(leaf.Key, ".")
		if text := values[key]; service == provider && text != "" {
			leaf.Value.SetString(text)
		}
	}
}

// A NamedModel is a model that the settings name for a provider.
type NamedModel struct {
	// Where is the place and the key that set it, such as
	// "molar.yaml:4: llm.ollama.model".
	Where           string
	Provider, Model string
}

// NamedModels returns the models that the settings name for the providers in use.
func (cfg *Config) NamedModels() []NamedModel {
	var all []NamedModel
	add := func(key, provider, model string) {
		used := slices.Contains(cfg.LLM.Provider, provider) || slices.Contains(cfg.LLM.Provider, "auto")
		if model != "" && used {
			all = append(all, NamedModel{Where: cfg.keyWithOrigin(key), Provider: provider, Model: model})
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
			all = append(all, NamedModel{Where: cfg.keyWithOrigin(key), Provider: provider, Model: model})
		}
	}
	return all
}

// keyWithOrigin returns a key, after the place that set it.
func (cfg *Config) keyWithOrigin(key string) string {
	if where := cfg.originOf(key); where != "" {
		return where + ": " + key
	}
	return key
}

// MayChoose reports whether a client with an API key may choose the model: it is the model or the
// small model of the provider, or the provider's allow list matches it. If the request names no
// provider (empty or auto), this must hold for every provider that may answer.
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
		if name == providers.Offline || cfg.LLM.MissingKey(name) != "" {
			continue // it has no models, or cannot answer
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
	// A star also matches a slash, which is common in names of models.
	plain := strings.NewReplacer("/", "|")
	return model == b.Model || model == b.SmallModel || slices.ContainsFunc(b.Allow, func(glob string) bool {
		ok, _ := path.Match(plain.Replace(glob), plain.Replace(model)) // checked when the file was read
		return ok
	})
}
