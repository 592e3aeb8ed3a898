// Package openai adapts OpenAI and servers with its APIs: vLLM, llama.cpp, LM Studio and gateways.
//
// There are two wires: Chat Completions (files chat_*.go), which all of them have, and Responses
// (files responses_*.go), which OpenAI's newer models need. Each has its request, its input and its
// reader. The other files are common to both: the choice of the wire (api.go), the exchange
// (stream.go), the walk through the history (history.go), what a model is known to reject
// (learn.go), the faults, and the lists of models.
//
// It owns the lowering of the canonical history and of tool schemas to these wires, the parsing of
// their event streams, the assembly of streamed tool calls, and the mapping of faults to
// [providers.Error]. It must not execute tools, judge arguments, or choose another provider.
package openai

import (
	"cmp"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"molar/providers"
	"molar/providers/wire"
	"molar/schemas"
)

// Defaults of [Config].
const (
	DefaultBaseURL    = "https://api.openai.com/v1"
	DefaultModel      = "gpt-4.1-mini"
	DefaultSmallModel = "gpt-4.1-nano"
)

// wireName is the name of the built-in endpoint.
const wireName = "openai"

// A Config configures the service and the time limits.
type Config struct {
	// Name is the endpoint's name in the config, such as "fast", and the result of [Provider.Name];
	// empty means "openai". Setting is the key of its block, such as "llm.providers.fast"; empty means
	// "llm.openai".
	Name, Setting string
	// APIKey is sent in the Authorization header; local servers need none.
	APIKey string
	// KeySetting names the key's setting in messages; empty means OPENAI_API_KEY.
	KeySetting string
	// BaseURL is the URL to which chat/completions or responses is appended; it may have a path and
	// a query. Empty means [DefaultBaseURL].
	BaseURL string
	// API is the wire: [APIAuto], which is the zero value, [APIChat] or [APIResponses].
	API API
	// HTTPClient is copied; the copy has no overall timeout and follows no redirects. Nil means a
	// new client.
	HTTPClient *http.Client
	// FirstByte bounds the wait for the first output; zero means [wire.DefaultFirst].
	FirstByte time.Duration
	// Window bounds prompt and answer together, in tokens; zero means unknown.
	Window int
	// Tuning applies if a request sets nothing.
	Tuning schemas.Tuning
	// Refusals store what the service refuses; nil keeps it in this process only.
	Refusals *wire.Refusals
	Logger   *slog.Logger
}

// A Provider is a [providers.Provider] for one service. It is safe for concurrent use.
type Provider struct {
	name     string
	setting  string
	key      string
	apis     *apis
	chat     *endpoint
	response *endpoint
	models   string // the URL of models
	props    string // the URL of llama.cpp's properties
	embed    string // the URL of embeddings
	original bool   // the service is OpenAI's own
	http     *http.Client
	limits   wire.Limits
	windows  windows
	tuning   schemas.Tuning
	log      *slog.Logger
	faults   *wire.Faults
	vectors  *wire.Vectors

	unopened wire.UnopenedThoughts
	thinkers wire.Thinkers
}

var _ providers.Provider = (*Provider)(nil)

// An endpoint is one of the service's wires: where its requests go, and what they may hold.
type endpoint struct {
	api     API
	url     string
	lessons *wire.Lessons
}

// New checks cfg and returns a provider. It does not contact the service.
func New(cfg Config) (*Provider, error) {
	name := cmp.Or(cfg.Name, wireName)
	setting := cmp.Or(cfg.Setting, "llm."+wireName)
	base, err := wire.ParseBase(name, cfg.BaseURL, DefaultBaseURL, "/chat/completions", "/responses")
	if err != nil {
		return nil, err
	}
	key := strings.TrimSpace(cfg.APIKey)
	if err := wire.CheckKey(key); err != nil {
		return nil, fmt.Errorf("%s API key: %w", name, err)
	}
	limits, err := wire.Limits{First: cfg.FirstByte}.Complete()
	if err != nil {
		return nil, fmt.Errorf("%s %w", name, err)
	}
	original := strings.EqualFold(base.Hostname(), "api.openai.com")
	choice, err := newAPIs(cfg.API, original)
	if err != nil {
		return nil, fmt.Errorf("%s %w", name, err)
	}
	keyFrom := cmp.Or(cfg.KeySetting, "OPENAI_API_KEY")
	p := &Provider{
		apis:     choice,
		name:     name,
		setting:  setting,
		key:      key,
		models:   base.JoinPath("models").String(),
		props:    base.JoinPath("../props").String(),
		embed:    base.JoinPath("embeddings").String(),
		original: original,
		http:     wire.NewClient(cfg.HTTPClient),
		limits:   limits,
		windows:  windows{configured: cfg.Window},
		tuning:   cfg.Tuning,
		log:      cfg.Logger,
		faults: wire.NewFaults(wire.FaultConfig{
			Provider: name, Setting: setting + ".base_url", Start: "start the server",
			Limits: limits, Base: base, Public: "api.openai.com", Secrets: []string{key},
			Advice: wire.Advice(setting, keyFrom, key == "" && !original, "OPENAI_API_KEY", "OpenAI"),
		}),
	}
	p.vectors = wire.NewVectors(p.faults)
	if p.log == nil {
		p.log = slog.New(slog.DiscardHandler)
	}
	refusals := cfg.Refusals
	if refusals == nil {
		refusals = wire.NewRefusals(nil, p.log) // the same for both wires
	}
	p.chat = &endpoint{APIChat, base.JoinPath("chat/completions").String(), wire.NewLessons(wire.NewTools(name, lowerChatTool, refusals, p.log))}
	p.response = &endpoint{APIResponses, base.JoinPath("responses").String(), wire.NewLessons(wire.NewTools(name, lowerResponsesTool, refusals, p.log))}
	return p, nil
}

// Name returns the endpoint's name.
func (p *Provider) Name() string { return p.name }

// LeftOut returns why tools are omitted from requests, by name.
func (p *Provider) LeftOut(tools []schemas.ToolInfo) map[string]string {
	return p.chat.lessons.Tools.LeftOut(tools)
}
