package config

import (
	"cmp"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"time"

	"molar/providers"
	"molar/schemas"
)

// ProviderNames returns the valid values of llm.provider, without the names in llm.providers.
func ProviderNames() []string {
	return append([]string{"auto"}, providers.Names()...)
}

// MissingKey returns how to set the key of an endpoint that has none, and "" if no key is missing.
// An OpenAI-compatible server at another address counts as needing none.
func (l LLM) MissingKey(name string) string {
	e, _ := l.Endpoint(name)
	vertex := e.Project != "" // it uses application default credentials
	switch {
	case len(e.Service.Keys) == 0 || vertex || l.Key(name) != "" || !e.AtHome():
		return ""
	case e.IsBuiltIn():
		return e.Service.Setup
	}
	return "set " + e.Setting + ".key"
}

// Key returns the key that is sent to an endpoint, and to no other: that of its block, else, for the
// block of a service, that of the environment. OPENAI_API_KEY is not sent to a server other than
// OpenAI's, unless the block refers to it.
func (l LLM) Key(name string) schemas.Secret {
	e, _ := l.Endpoint(name)
	if e.IsBuiltIn() && e.AtHome() {
		return cmp.Or(e.Key, l.Keys[name])
	}
	return e.Key
}

func (c *checker) llm() {
	llm := c.cfg.LLM
	if len(llm.Provider) == 0 {
		c.fault("llm.provider", "want a provider: %s", oneOf(llm.Names()))
	}
	for _, name := range llm.Provider {
		c.enum("llm.provider", name, llm.Names())
	}
	c.uniqueList("llm.provider", llm.Provider)
	if len(llm.Provider) == 1 { // in a list, a provider without a key is skipped
		c.hasKey("llm.provider", llm.Provider[0])
	}
	if llm.Small != "" {
		c.enum("llm.small", llm.Small, llm.EndpointNames())
		c.hasKey("llm.small", llm.Small)
	}
	if llm.OpenAI.API != "" {
		c.enum("llm.openai.api", llm.OpenAI.API, []string{"auto", "chat", "responses"})
	}
	for _, e := range llm.Providers {
		c.named(join(keyProviders, e.Name), e.Name, e.Value.API)
	}
	for _, name := range llm.EndpointNames() {
		e, _ := llm.Endpoint(name)
		if !slices.Contains(apis(), e.API) && !e.IsBuiltIn() {
			continue // the keys of its service are not known
		}
		c.endpoint(e)
	}
}

// named checks the name and the API of an endpoint in llm.providers, and that it has only keys of that
// API.
func (c *checker) named(key, name, api string) {
	if !regexp.MustCompile(endpointName).MatchString(name) || len(name) > 32 {
		c.fault(key, "want a name of lower-case words, such as fast or my-server, at most 32 characters")
	}
	if slices.Contains(ProviderNames(), name) {
		c.fault(key, "%q has a meaning of its own in llm.provider; choose another name", name)
	}
	if api == "" {
		c.fault(key+".api", "want what it speaks: %s", oneOf(apis()))
		return
	}
	c.enum(key+".api", api, apis())
	s, ok := serviceOf(api)
	if !ok {
		return
	}
	valid := endpointKeys(s.Name)
	for _, other := range fieldsOf(reflect.TypeFor[Endpoint]()).Names {
		if at := join(key, other); c.cfg.origins[at] != "" && !slices.Contains(valid, other) {
			c.fault(at, "does not apply to api: %s; remove it", api)
		}
	}
}

func (c *checker) endpoint(e Endpoint) {
	key := e.Setting
	c.service(key, e.Hosted)
	c.price(key+".price", e.Price, key+".model")
	c.price(key+".small_price", e.SmallPrice, key+".small_model")
	if e.Safety != "" {
		c.enum(key+".safety", e.Safety, safetyThresholds())
	}
	if e.Location != "" && e.Project == "" {
		c.fault(key+".location", "applies only to Vertex AI: set %s.project too", key)
	}
	for name, n := range map[string]int{"num_ctx": e.NumCtx, "max_num_ctx": e.MaxNumCtx} {
		if n != 0 && n < minContext {
			c.fault(key+"."+name, "want %d or more", minContext)
		}
	}
	if m := e.MaxNumCtx; m > 0 && e.NumCtx > m {
		c.fault(key+".num_ctx", "is larger than max_num_ctx")
	}
	if !isKeepAlive(string(e.KeepAlive)) {
		c.fault(key+".keep_alive", `want a duration such as "5m", a number of seconds such as "300", or "-1" for ever`)
	}
}

// price checks a price, and that its model is named: the default model may change.
func (c *checker) price(key string, p schemas.Price, model string) {
	if !p.IsSet() {
		return
	}
	cached := p.Input
	if p.Cached != nil {
		cached = *p.Cached
	}
	for name, v := range map[string]float64{"input": p.Input, "cached": cached, "output": p.Output} {
		if !(v >= 0) || math.IsInf(v, 0) {
			c.fault(key+"."+name, "want a number, 0 or more")
		}
	}
	if c.cfg.origins[model] == "" {
		c.fault(key, "is the price of a model: set %s too", model)
	}
}

func (c *checker) service(key string, h Hosted) {
	c.address(key+".base_url", h.BaseURL)
	c.required(key+".model", h.Model)
	c.required(key+".small_model", h.SmallModel)
	c.positive(key+".timeout", h.Timeout, 24*time.Hour)
	if h.Window < 0 {
		c.fault(key+".window", "want 0 or more")
	}
	c.globs(key+".allow", h.Allow)
	c.tuning(key, h.Tuning)
}

// leastContext is the smallest context window that makes sense, in tokens.
const minContext = 256

func safetyThresholds() []string {
	return []string{"OFF", "BLOCK_NONE", "BLOCK_ONLY_HIGH", "BLOCK_MEDIUM_AND_ABOVE", "BLOCK_LOW_AND_ABOVE"}
}

func (c *checker) tuning(key string, t schemas.Tuning) {
	if t.Temperature != nil && (*t.Temperature < 0 || *t.Temperature > 2) {
		c.fault(key+".temperature", "want a number from 0 to 2")
	}
	if t.TopP != nil && (*t.TopP <= 0 || *t.TopP > 1) {
		c.fault(key+".top_p", "want a number above 0, at most 1")
	}
	if t.MaxTokens < 0 {
		c.fault(key+".max_tokens", "want 0 or more")
	}
	if t.Thinking != "" {
		c.enum(key+".thinking", string(t.Thinking), []string{"off", "low", "medium", "high"})
	}
	c.headers(key+".headers", t.Headers)
}

// hasKey reports a provider whose key is missing.
func (c *checker) hasKey(key, provider string) {
	if missing := c.cfg.LLM.MissingKey(provider); missing != "" {
		c.fault(key, "%s has no API key: %s", provider, missing)
	}
}

// isKeepAlive reports whether text is empty or has a form that Ollama accepts: a duration, or a
// number of seconds.
func isKeepAlive(text string) bool {
	_, notDuration := time.ParseDuration(text)
	_, notSeconds := strconv.Atoi(text)
	return text == "" || notDuration == nil || notSeconds == nil
}
