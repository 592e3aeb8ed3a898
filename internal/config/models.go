package config

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"molar/providers"
	"molar/schemas"
)

// Models returns the models of an endpoint that the file, a flag or a variable sets; "" if it is the
// default.
func (cfg *Config) Models(name string) (model, small string) {
	e, _ := cfg.LLM.Endpoint(name)
	named := func(key, value string) string {
		if cfg.origins[e.Setting+"."+key] == "" {
			return ""
		}
		return value
	}
	return named("model", e.Model), named("small_model", e.SmallModel)
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
		if model != "" {
			all = append(all, NamedModel{Where: cfg.keyWithOrigin(key), Provider: provider, Model: model})
		}
	}
	for _, name := range cfg.LLM.EndpointNames() {
		e, _ := cfg.LLM.Endpoint(name)
		if e.IsBuiltIn() && slices.Contains(cfg.LLM.Provider, "auto") || slices.Contains(cfg.EndpointsInUse(), name) {
			model, small := cfg.Models(name)
			add(e.Setting+".model", name, model)
			add(e.Setting+".small_model", name, small)
		}
	}
	for _, e := range cfg.Assistants {
		provider := e.Value.Provider
		if provider == "" && len(cfg.LLM.Provider) == 1 {
			provider = cfg.LLM.Provider[0]
		}
		add(join("assistants", e.Name)+".model", provider, e.Value.Model)
	}
	for _, e := range cfg.Knowledge {
		add(join("knowledge", e.Name)+".embeddings.model", e.Value.Embeddings.Provider, e.Value.Embeddings.Model)
	}
	return all
}

// EndpointsInUse returns the endpoints that the settings name to answer, judge or summarise; auto names
// none.
func (cfg *Config) EndpointsInUse() []string {
	return slices.DeleteFunc(cfg.LLM.EndpointNames(), func(name string) bool {
		return !slices.Contains(cfg.LLM.Provider, name) && cfg.LLM.Small != name &&
			!slices.ContainsFunc(cfg.Assistants, func(a Entry[schemas.Assistant]) bool { return a.Value.Provider == name })
	})
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
	b, ok := l.Endpoint(provider)
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
