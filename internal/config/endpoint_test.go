package config_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const endpoints = `
llm:
  provider: [fast, home, openai]
  small: home
  providers:
    fast:
      api: openai
      base_url: https://fast.example/v1
      key: ${FAST_KEY}
      model: big
      small_model: small
      window: 128000
      timeout: 20s
      allow: ["big-*"]
      thinking: low
      headers: {X-Team: a}
      price: {input: 0.25, cached: 0.1, output: 2}
      small_price: {input: 0.1, output: 0.5}
    home: {api: ollama, base_url: box.local, num_ctx: 8192, keep_alive: -1}
    vertex: {api: gemini, project: p, location: l, safety: "OFF", model: g}
`

func TestEndpoints(t *testing.T) {
	t.Parallel()
	cfg := mustLoad(t, endpoints, "FAST_KEY", "fk", "OPENAI_API_KEY", "ok", "GEMINI_API_KEY", "gk")
	if err := check(t, schema(t), endpoints); err != nil {
		t.Error(err)
	}
	want := []string{"gemini", "openai", "anthropic", "ollama", "fast", "home", "vertex"}
	if diff := cmp.Diff(want, cfg.LLM.EndpointNames()); diff != "" {
		t.Error(diff)
	}
	fast, _ := cfg.LLM.Endpoint("fast")
	if fast.Setting != "llm.providers.fast" || fast.Service.Name != "openai" || fast.IsBuiltIn() || fast.AtHome() || fast.KeySetting() != "llm.providers.fast.key" ||
		fast.BaseURL != "https://fast.example/v1" || fast.Window != 128000 || fast.Headers["X-Team"].Reveal() != "a" {
		t.Errorf("%+v", fast)
	}
	home, _ := cfg.LLM.Endpoint("home")
	if home.BaseURL != "http://box.local:11434" || home.NumCtx != 8192 || home.KeepAlive != "-1" || home.Model != "qwen2.5:7b-instruct" || home.Timeout.Seconds() != 180 {
		t.Errorf("%+v", home)
	}
	vertex, _ := cfg.LLM.Endpoint("vertex")
	if vertex.SmallModel != "g" || vertex.Project != "p" || cfg.LLM.MissingKey("vertex") != "" {
		t.Errorf("%+v", vertex)
	}
	builtIn, _ := cfg.LLM.Endpoint("openai")
	if !builtIn.IsBuiltIn() || !builtIn.AtHome() || builtIn.KeySetting() != "OPENAI_API_KEY" || builtIn.Model != "gpt-4.1-mini" {
		t.Errorf("%+v", builtIn)
	}
	for name, key := range map[string]string{"fast": "fk", "home": "", "vertex": "", "openai": "ok", "gemini": "gk", "nobody": ""} {
		if got := cfg.LLM.Key(name).Reveal(); got != key {
			t.Errorf("%s is sent the key %q, want %q", name, got, key)
		}
	}
	if big, small, other := fast.PriceOf("big"), fast.PriceOf("small"), fast.PriceOf("big-2"); big.Output != 2 || *big.Cached != 0.1 || small.Input != 0.1 || other.IsSet() {
		t.Errorf("prices %+v, %+v, %+v", big, small, other)
	}
	if !cfg.MayChoose("", "fast", "big-9") || cfg.MayChoose("", "home", "big-9") {
		t.Error("allow is not that of the endpoint")
	}
	named := cfg.NamedModels()
	if len(named) != 2 || named[0].Provider != "fast" || !strings.HasSuffix(named[0].Where, ": llm.providers.fast.model") {
		t.Errorf("%+v", named)
	}
}

// An endpoint of one's own gets no key of the environment, whatever its address.
func TestEndpoints_NoKeyOfTheEnvironment(t *testing.T) {
	t.Parallel()
	cfg := mustLoad(t, "llm: {providers: {a: {api: openai}, b: {api: gemini}, c: {api: openai, base_url: 'http://x/v1'}}}\n", "OPENAI_API_KEY", "ok", "GEMINI_API_KEY", "gk")
	for name, missing := range map[string]string{"a": "set llm.providers.a.key", "b": "set llm.providers.b.key", "c": "", "openai": ""} {
		if got := cfg.LLM.MissingKey(name); got != missing {
			t.Errorf("%s misses %q, want %q", name, got, missing)
		}
		if key := cfg.LLM.Key(name); name != "openai" && key != "" {
			t.Errorf("%s is sent a key", name)
		}
	}
}

func TestEndpoints_Environment(t *testing.T) {
	t.Parallel()
	cfg := mustLoad(t, "llm: {providers: {my-box: {api: ollama, model: m}}}\n", "MOLAR_LLM_PROVIDERS_MY_BOX_MODEL", "n", "MOLAR_LLM_PROVIDERS_MY_BOX_NUM_CTX", "4096")
	if e, _ := cfg.LLM.Endpoint("my-box"); e.Model != "n" || e.NumCtx != 4096 {
		t.Errorf("%+v", e)
	}
	var settings []string
	for _, s := range cfg.Settings() {
		if strings.HasPrefix(s.Key, "llm.providers.my-box.") && s.Origin != "" {
			settings = append(settings, s.Key)
		}
		if s.Key == "llm.providers.my-box.safety" {
			t.Error("a setting of Gemini is shown for an Ollama")
		}
	}
	if diff := cmp.Diff([]string{"llm.providers.my-box.api", "llm.providers.my-box.model", "llm.providers.my-box.num_ctx"}, settings); diff != "" {
		t.Error(diff)
	}
}

func TestEndpoints_Faults(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		text, want string
		schema     bool // the schema finds it too
	}{
		"no api":              {"llm:\n  providers:\n    a: {model: m}\n", ":3: llm.providers.a.api: want what it speaks: gemini, openai", true},
		"an unknown api":      {"llm:\n  providers:\n    a: {api: opnai}\n", `:3: llm.providers.a.api: want gemini, openai`, true},
		"a key of another":    {"llm:\n  providers:\n    a:\n      api: openai\n      num_ctx: 8192\n", ":5: llm.providers.a.num_ctx: does not apply to api: openai; remove it", true},
		"a key for Ollama":    {"llm:\n  providers:\n    a: {api: ollama, key: '${K:-x}'}\n", ":3: llm.providers.a.key: does not apply to api: ollama", true},
		"an unknown key":      {"llm:\n  providers:\n    a: {api: openai, modl: m}\n", `:3: llm.providers.a.modl: unknown key "modl", did you mean "model"?`, true},
		"a built-in name":     {"llm:\n  providers:\n    openai: {api: openai}\n", `:3: llm.providers.openai: "openai" has a meaning of its own`, false},
		"auto":                {"llm: {providers: {auto: {api: openai}}}\n", `:1: llm.providers.auto: "auto" has a meaning of its own`, false},
		"upper case":          {"llm: {providers: {Fast: {api: openai}}}\n", `:1: llm.providers.Fast: want a name of lower-case words`, true},
		"a dot":               {"llm: {providers: {'a.b': {api: openai}}}\n", `:1: llm.providers.a.b: want a name of lower-case words`, true},
		"a key in the file":   {"llm: {providers: {a: {api: openai, key: canary}}}\n", ":1: llm.providers.a.key: keys do not belong in this file; write ${NAME}", false},
		"an unset variable":   {"llm: {providers: {a: {api: openai, key: '${NOT_SET}'}}}\n", ":1: llm.providers.a.key: ", false},
		"no such endpoint":    {"llm: {provider: [fsat], providers: {fast: {api: ollama}}}\n", `:1: llm.provider: want auto, gemini, openai, anthropic, ollama, offline or fast, did you mean "fast"?`, false},
		"a missing key":       {"llm: {provider: a, providers: {a: {api: openai}}}\n", ":1: llm.provider: a has no API key: set llm.providers.a.key", false},
		"small is not known":  {"llm: {small: fats, providers: {fast: {api: ollama}}}\n", `:1: llm.small: want gemini, openai, anthropic, ollama or fast, did you mean "fast"?`, false},
		"small without a key": {"llm: {small: gemini}\n", ":1: llm.small: gemini has no API key: set GEMINI_API_KEY", false},
		"an assistant's":      {"llm: {providers: {fast: {api: ollama}}}\nassistants: {a: {provider: fats}}\n", `:2: assistants.a.provider: want auto, gemini, openai, anthropic, ollama, offline or fast`, false},
		"its address":         {"llm: {providers: {a: {api: openai, base_url: x}}}\n", ":1: llm.providers.a.base_url: want an address", false},
		"an Ollama's address": {"llm: {providers: {a: {api: ollama, base_url: 'ftp://x'}}}\n", ":1: llm.providers.a.base_url: want the address of Ollama", false},
		"a small window":      {"llm: {providers: {a: {api: ollama, num_ctx: 1}}}\n", ":1: llm.providers.a.num_ctx: want 256 or more", false},
		"a location":          {"llm: {providers: {a: {api: gemini, location: l}}}\n", ":1: llm.providers.a.location: applies only to Vertex AI: set llm.providers.a.project too", false},
		"a price below zero":  {"llm: {providers: {a: {api: openai, model: m, price: {input: -1}}}}\n", ":1: llm.providers.a.price.input: want a number, 0 or more", true},
		"a price of nothing":  {"llm: {openai: {price: {input: 1}}}\n", ":1: llm.openai.price: is the price of a model: set llm.openai.model too", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := load(t, tt.text)
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "canary") {
				t.Errorf("%v, want %q", err, tt.want)
			}
			if err := check(t, schema(t), tt.text); (err != nil) != tt.schema {
				t.Errorf("the schema: %v", err)
			}
		})
	}
}

// A replay sets the endpoints of its tape in a copy of the settings.
func TestLLM_SetEndpoint(t *testing.T) {
	t.Parallel()
	before := mustLoad(t, endpoints, "FAST_KEY", "fk", "OPENAI_API_KEY", "ok")
	cfg := *before
	cfg.LLM.Keys = nil
	cfg.LLM.SetEndpoint("fast", "openai", "other", "", "")
	cfg.LLM.SetEndpoint("new", "ollama", "m", "s", "http://x:1")
	cfg.LLM.SetEndpoint("odd", "nothing", "m", "s", "http://x:1")
	cfg.LLM.SetEndpoint("gemini", "", "g", "", "")
	for name, model := range map[string]string{"fast": "other", "new": "m", "odd": "", "gemini": "g"} {
		if e, ok := cfg.LLM.Endpoint(name); e.Model != model || ok != (name != "odd") {
			t.Errorf("%s has %q", name, e.Model)
		}
	}
	if e, _ := before.LLM.Endpoint("fast"); e.Model != "big" || len(before.LLM.Providers) != 3 {
		t.Error("the settings were changed")
	}
}
