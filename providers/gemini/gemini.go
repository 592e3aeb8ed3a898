// Package gemini adapts Google's Gemini models over the Gemini Developer API, on
// google.golang.org/genai.
//
// It owns the lowering of the canonical history and of tools to Gemini's wire, the storing of
// thought signatures with their parts, the parsing of the stream, and the mapping of faults to
// [providers.Error]. It must not execute tools, judge arguments, or choose models.
//
// The SDK's own contents and configuration go to GenerateContentStream, and its own reader gives the
// answer. Where its writer or reader is too weak, bytes are mended on their way: see verbatim.go for
// requests and mend.go for answers.
package gemini

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"google.golang.org/genai"

	"molar/providers"
	"molar/providers/wire"
	"molar/schemas"
)

// DefaultBaseURL is the URL of the service.
const DefaultBaseURL = "https://generativelanguage.googleapis.com"

// wireName is the name of the built-in endpoint.
const wireName = "gemini"

// A Config configures the service and the time limits. No environment variable changes any of it.
type Config struct {
	// Name is the endpoint's name in the config, such as "fast", and the result of [Provider.Name];
	// empty means "gemini". Setting is the key of its block, such as "llm.providers.fast"; empty means
	// "llm.gemini".
	Name, Setting string
	// APIKey is sent in a header to BaseURL and nowhere else. It may be empty only with a
	// Project.
	APIKey string
	// KeySetting names the key's setting in messages; empty means GEMINI_API_KEY.
	KeySetting string
	// Project and Location select Vertex AI, which replaces the Gemini API if Project is set,
	// with Google's application default credentials. An empty Location means "global".
	Project, Location string
	// Safety is the likelihood of harm from which an answer is blocked, such as BLOCK_ONLY_HIGH;
	// empty leaves it to the service.
	Safety string
	// BaseURL is the service's URL, with a gateway's path prefix if there is one. Empty means
	// [DefaultBaseURL].
	BaseURL string
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
	// Logger logs what was omitted from requests; nil means none.
	Logger *slog.Logger
}

// A Provider is a [providers.Provider] for the Gemini API. It is safe for concurrent use.
type Provider struct {
	name    string
	setting string
	keyFrom string
	client  *genai.Client
	limits  wire.Limits
	window  int
	tuning  schemas.Tuning
	safety  []*genai.SafetySetting
	log     *slog.Logger
	faults  *wire.Faults
	vectors *wire.Vectors

	lessons  *wire.Lessons
	unopened wire.UnopenedThoughts
	thinkers wire.Thinkers
}

var _ providers.Provider = (*Provider)(nil)

// New checks cfg and returns a provider. It does not contact the service.
func New(cfg Config) (*Provider, error) {
	name, setting := cmp.Or(cfg.Name, wireName), cmp.Or(cfg.Setting, "llm."+wireName)
	keyFrom := cmp.Or(cfg.KeySetting, "GEMINI_API_KEY")
	key := strings.TrimSpace(cfg.APIKey)
	if key == "" && cfg.Project == "" || wire.CheckKey(key) != nil {
		return nil, fmt.Errorf("%s API key: empty or not an API key; set %s", name, keyFrom)
	}
	if cfg.Project != "" && (cfg.BaseURL == "" || cfg.BaseURL == DefaultBaseURL) {
		cfg.BaseURL = vertexURL(cfg.Location)
	}
	// The version is added to every path; people paste it with the address.
	base, err := wire.ParseBase(name, cfg.BaseURL, DefaultBaseURL, "/"+apiVersion, "/"+vertexVersion)
	if err != nil {
		return nil, err
	}
	if base.User != nil || base.RawQuery != "" {
		return nil, errors.New(name + " base URL: must have no user and no query; the key has a setting of its own")
	}
	limits, err := wire.Limits{First: cfg.FirstByte}.Complete()
	if err != nil {
		return nil, fmt.Errorf("%s %w", name, err)
	}
	p := &Provider{
		name:    name,
		setting: setting,
		keyFrom: keyFrom,
		limits:  limits,
		window:  cfg.Window,
		tuning:  cfg.Tuning,
		safety:  safety(cfg.Safety),
		log:     cfg.Logger,
		faults: wire.NewFaults(wire.FaultConfig{
			Provider: name, Setting: setting + ".base_url", Start: "start the gateway", Limits: limits,
			Base: base, Public: "generativelanguage.googleapis.com", Secrets: []string{key},
		}),
	}
	p.vectors = wire.NewVectors(p.faults)
	if p.log == nil {
		p.log = slog.New(slog.DiscardHandler)
	}
	p.lessons = wire.NewLessons(wire.NewTools(name, lowerTool, cfg.Refusals, p.log))
	p.client, err = p.newClient(cfg, key, base.String())
	return p, err
}

// newClient returns the SDK's client. It always sets backend and URL: the SDK would read the
// environment.
func (p *Provider) newClient(cfg Config, key, base string) (*genai.Client, error) {
	transport := wire.NewClient(cfg.HTTPClient)
	if transport.Transport == nil {
		transport.Transport = http.DefaultTransport
	}
	transport.Transport = mender{transport.Transport, p}
	sdk := &genai.ClientConfig{
		APIKey:      key,
		Backend:     genai.BackendGeminiAPI,
		HTTPClient:  transport,
		HTTPOptions: genai.HTTPOptions{BaseURL: base, APIVersion: apiVersion},
	}
	if cfg.Project != "" {
		sdk.Backend, sdk.APIKey, sdk.HTTPOptions.APIVersion = genai.BackendVertexAI, "", vertexVersion
		sdk.Project, sdk.Location = cfg.Project, cmp.Or(cfg.Location, defaultLocation)
		if err := sdk.UseDefaultCredentials(); err != nil {
			return nil, errors.New("vertex AI: no application default credentials: run gcloud auth application-default login, or set GOOGLE_APPLICATION_CREDENTIALS")
		}
	}
	client, err := genai.NewClient(context.Background(), sdk)
	if err != nil {
		// The SDK's error prints its whole configuration, the key included.
		return nil, errors.New("gemini client: the SDK refused the configuration; check the API key and the base URL")
	}
	return client, nil
}

// vertexURL returns the URL of Vertex AI for a location.
func vertexURL(location string) string {
	if location = cmp.Or(location, defaultLocation); location != defaultLocation {
		return "https://" + location + "-aiplatform.googleapis.com"
	}
	return "https://aiplatform.googleapis.com"
}

// defaultLocation is the global location of Vertex AI.
const defaultLocation = "global"

// Name returns the endpoint's name.
func (p *Provider) Name() string { return p.name }

// Window returns the configured window, or 0.
func (p *Provider) Window(context.Context, string) int { return p.window }

// The versions of the APIs are a part of the path of every request.
const (
	apiVersion    = "v1beta"
	vertexVersion = "v1beta1"
)

// LeftOut returns why tools are omitted from requests, by name.
func (p *Provider) LeftOut(tools []schemas.ToolInfo) map[string]string {
	return p.lessons.Tools.LeftOut(tools)
}
