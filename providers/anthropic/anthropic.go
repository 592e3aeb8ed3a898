// Package anthropic adapts Anthropic's Messages API, and servers that speak it.
//
// It owns the lowering of the canonical history and of tool schemas to that wire, the marks of the
// prompt cache, the parsing of its event stream, and the mapping of its faults to
// [providers.Error]. It must not execute tools, judge arguments, or choose another provider.
package anthropic

import (
	"cmp"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"molar/providers"
	"molar/providers/wire"
	"molar/schemas"
	"molar/schemas/lower"
)

// Defaults of [Config].
const (
	DefaultBaseURL    = "https://api.anthropic.com"
	DefaultModel      = "claude-sonnet-5-5"
	DefaultSmallModel = "claude-haiku-5-5"
)

// wireName is the name of the built-in endpoint.
const wireName = "anthropic"

// A Config configures the service and the time limits.
type Config struct {
	// Name is the endpoint's name in the config and the result of [Provider.Name]; empty means
	// "anthropic". Setting is the key of its block, such as "llm.providers.fast"; empty means
	// "llm.anthropic".
	Name, Setting string
	// APIKey is sent in the x-api-key header; local servers need none.
	APIKey string
	// KeySetting names the key's setting in messages; empty means ANTHROPIC_API_KEY.
	KeySetting string
	// BaseURL is the URL to which v1/messages is appended; it may have a path and a query. Empty
	// means [DefaultBaseURL].
	BaseURL string
	// HTTPClient is copied; the copy has no overall timeout and follows no redirects. Nil means a
	// new client.
	HTTPClient *http.Client
	// FirstByte bounds the wait for the first output; zero means [wire.DefaultFirst].
	FirstByte time.Duration
	// Window bounds prompt and answer together, in tokens; zero means what the service reports.
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
	messages string // the URL of v1/messages
	models   string // the URL of v1/models
	original bool   // the service is Anthropic's own
	http     *http.Client
	limits   wire.Limits
	window   int // as configured
	tuning   schemas.Tuning
	log      *slog.Logger
	faults   *wire.Faults

	lessons  *wire.Lessons
	sizes    sizes
	unopened wire.UnopenedThoughts
	thinkers wire.Thinkers
}

var _ providers.Provider = (*Provider)(nil)

// New checks cfg and returns a provider. It does not contact the service.
func New(cfg Config) (*Provider, error) {
	name := cmp.Or(cfg.Name, wireName)
	setting := cmp.Or(cfg.Setting, "llm."+wireName)
	base, err := wire.ParseBase(name, cfg.BaseURL, DefaultBaseURL, "/messages", "/v1")
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
	keyFrom, original := cmp.Or(cfg.KeySetting, "ANTHROPIC_API_KEY"), strings.EqualFold(base.Hostname(), "api.anthropic.com")
	p := &Provider{
		name:     name,
		setting:  setting,
		key:      key,
		messages: base.JoinPath("v1/messages").String(),
		models:   base.JoinPath("v1/models").String(),
		original: original,
		http:     wire.NewClient(cfg.HTTPClient),
		limits:   limits,
		window:   cfg.Window,
		tuning:   cfg.Tuning,
		log:      cfg.Logger,
		faults: wire.NewFaults(wire.FaultConfig{
			Provider: name, Setting: setting + ".base_url", Start: "start the server",
			Limits: limits, Base: base, Public: "api.anthropic.com", Secrets: []string{key},
			Advice: wire.Advice(setting, keyFrom, key == "" && !original, "ANTHROPIC_API_KEY", "Anthropic"),
		}),
	}
	if p.log == nil {
		p.log = slog.New(slog.DiscardHandler)
	}
	p.lessons = wire.NewLessons(wire.NewTools(name, lowerTool, cfg.Refusals, p.log))
	return p, nil
}

// Name returns the endpoint's name.
func (p *Provider) Name() string { return p.name }

// LeftOut returns why tools are omitted from requests, by name.
func (p *Provider) LeftOut(tools []schemas.ToolInfo) map[string]string {
	return p.lessons.Tools.LeftOut(tools)
}

// SchemaBesideTools reports whether the model takes a schema of its answer in a request that also
// offers tools: all do that take one at all. A schema that the service could not keep whole is not sent.
func (p *Provider) SchemaBesideTools(model string, schema json.RawMessage) bool {
	_, kept, err := lower.ForAnthropicAnswer(schema)
	return err == nil && kept && p.lessons.Refused(model, paramFormat) == 0
}
