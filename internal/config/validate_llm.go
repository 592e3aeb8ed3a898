package config

import (
	"cmp"
	"net/url"
	"strconv"
	"strings"
	"time"

	"molar/providers"
	"molar/schemas"
)

// ProviderNames returns the valid values of llm.provider.
func ProviderNames() []string {
	return append([]string{"auto"}, providers.Names()...)
}

// MissingKey returns how to set the key of a provider that has none, and "" if no key is missing.
// An OpenAI-compatible server at another address counts as needing none.
func (l LLM) MissingKey(provider string) string {
	s, _ := providers.Find(provider)
	vertex := provider == providers.Gemini && l.Gemini.Project != "" // it uses application default credentials
	if len(s.Keys) == 0 || vertex || l.Key(provider) != "" || !l.envKeyApplies(provider) {
		return ""
	}
	return s.Setup
}

// Key returns the key that is sent to a provider: that of its section, else that of the
// environment. OPENAI_API_KEY is not sent to a server other than OpenAI's, unless the section
// refers to it.
func (l LLM) Key(provider string) schemas.Secret {
	block, _ := l.Service(provider)
	if l.envKeyApplies(provider) {
		return cmp.Or(block.Key, l.Keys[provider])
	}
	return block.Key
}

// AtOpenAI reports whether llm.openai is OpenAI's own service, not another one with its API.
func (l LLM) AtOpenAI() bool { return l.envKeyApplies(providers.OpenAI) }

// envKeyApplies reports whether the key in the environment is meant for the provider's address.
func (l LLM) envKeyApplies(provider string) bool {
	s, _ := providers.Find(provider)
	if s.KeyHost == "" {
		return true
	}
	block, _ := l.Service(provider)
	u, err := url.Parse(block.BaseURL)
	if err != nil {
		return false
	}
	host := strings.ToLower(u.Hostname())
	return host == s.KeyHost || strings.HasSuffix(host, "."+s.KeyHost)
}

func (c *checker) llm() {
	llm := c.cfg.LLM
	if len(llm.Provider) == 0 {
		c.fault("llm.provider", "want a provider: %s", oneOf(ProviderNames()))
	}
	for _, name := range llm.Provider {
		c.enum("llm.provider", name, ProviderNames())
	}
	c.uniqueList("llm.provider", llm.Provider)
	if len(llm.Provider) == 1 { // in a list, a provider without a key is skipped
		c.hasKey("llm.provider", llm.Provider[0])
	}
	for _, provider := range providers.WithModels() {
		service, _ := llm.Service(provider)
		c.service("llm."+provider, service)
	}
	if llm.OpenAI.API != "" {
		c.enum("llm.openai.api", llm.OpenAI.API, []string{"auto", "chat", "responses"})
	}
	if llm.Gemini.Safety != "" {
		c.enum("llm.gemini.safety", llm.Gemini.Safety, safetyThresholds())
	}
	if llm.Gemini.Location != "" && llm.Gemini.Project == "" {
		c.fault("llm.gemini.location", "applies only to Vertex AI: set llm.gemini.project too")
	}
	for key, n := range map[string]int{"num_ctx": llm.Ollama.NumCtx, "max_num_ctx": llm.Ollama.MaxNumCtx} {
		if n != 0 && n < minContext {
			c.fault("llm.ollama."+key, "want %d or more", minContext)
		}
	}
	if m := llm.Ollama.MaxNumCtx; m > 0 && llm.Ollama.NumCtx > m {
		c.fault("llm.ollama.num_ctx", "is larger than max_num_ctx")
	}
	if !isKeepAlive(string(llm.Ollama.KeepAlive)) {
		c.fault("llm.ollama.keep_alive", `want a duration such as "5m", a number of seconds such as "300", or "-1" for ever`)
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
