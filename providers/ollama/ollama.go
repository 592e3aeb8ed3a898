// Package ollama adapts an Ollama server: /api/chat streamed, and the endpoints for choosing a
// model (/api/show, /api/tags, /api/ps).
//
// It owns the lowering of the canonical history and of tool schemas to Ollama's
// wire, the reading of its stream, the size of its context window, and the
// mapping of its faults to [providers.Error]. It must not execute tools, judge
// arguments, or retry across providers.
package ollama

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ollama/ollama/api"

	"molar/providers"
	"molar/providers/wire"
	"molar/schemas"
)

// Defaults of [Config] and of the configuration file.
const (
	DefaultBaseURL    = "http://127.0.0.1:11434"
	DefaultModel      = "qwen2.5:7b-instruct"
	DefaultSmallModel = "qwen2.5:3b-instruct"
)

// wireName is the name of the built-in endpoint.
const wireName = "ollama"

// A Config configures the server and the time limits.
type Config struct {
	// Name is the endpoint's name in the config, such as "fast", and the result of [Provider.Name];
	// empty means "ollama". Setting is the key of its block, such as "llm.providers.fast"; empty means
	// "llm.ollama".
	Name, Setting string
	// BaseURL is the server's address; "host", "host:port" and a path prefix are accepted too.
	// Empty means [DefaultBaseURL].
	BaseURL string
	// HTTPClient is copied; the copy has no overall timeout and follows no redirects. Nil means a
	// new client.
	HTTPClient *http.Client
	// FirstByte bounds the wait for the first output, which includes loading the model; zero
	// means [wire.DefaultFirst].
	FirstByte time.Duration
	// KeepAlive is how long the server keeps a model loaded: a duration ("5m"), a
	// number of seconds ("300"), "0" for not at all, "-1" for ever. Empty leaves it
	// to the server.
	KeepAlive string
	// NumCtx is the context window of every call, MaxNumCtx the largest one that a call may make
	// the server load, in tokens. Zero leaves them to the model and the server.
	NumCtx, MaxNumCtx int
	// Tuning applies if a request sets nothing. If neither sets thinking, it is switched off.
	Tuning schemas.Tuning
	// Refusals store what the service refuses; nil keeps it in this process only.
	Refusals *wire.Refusals
	Logger   *slog.Logger
}

// A Provider is a [providers.Provider] for one Ollama server. It is safe for concurrent use.
type Provider struct {
	name      string
	setting   string // the setting of the address
	base      *url.URL
	chat      string // the address of /api/chat
	embed     string // the address of /api/embed
	http      *http.Client
	client    *api.Client
	limits    wire.Limits
	keepAlive *api.Duration
	tuning    schemas.Tuning
	numCtx    int
	maxNumCtx int
	log       *slog.Logger
	faults    *wire.Faults
	vectors   *wire.Vectors

	models   modelCache
	windows  windows
	lessons  *wire.Lessons
	unopened wire.UnopenedThoughts
	thinkers wire.Thinkers
	left     sync.Map // models whose last stream was cut short
}

var _ providers.Provider = (*Provider)(nil)

// New checks cfg and returns a provider. It does not contact the server.
func New(cfg Config) (*Provider, error) {
	name := cmp.Or(cfg.Name, wireName)
	base, err := parseBase(name, cfg.BaseURL)
	if err != nil {
		return nil, err
	}
	keepAlive, err := parseKeepAlive(cfg.KeepAlive)
	if err != nil {
		return nil, err
	}
	limits, err := wire.Limits{First: cfg.FirstByte}.Complete()
	if err != nil {
		return nil, fmt.Errorf("%s %w", name, err)
	}
	setting := "OLLAMA_BASE_URL"
	if cfg.Setting != "" {
		setting = cfg.Setting + ".base_url"
	}
	p := &Provider{
		name:      name,
		setting:   setting,
		base:      base,
		chat:      base.JoinPath("/api/chat").String(),
		embed:     base.JoinPath("/api/embed").String(),
		http:      wire.NewClient(cfg.HTTPClient),
		limits:    limits,
		keepAlive: keepAlive,
		tuning:    cfg.Tuning,
		numCtx:    cfg.NumCtx,
		maxNumCtx: cfg.MaxNumCtx,
		log:       cfg.Logger,
		faults: wire.NewFaults(wire.FaultConfig{
			Provider: name, Setting: setting, Start: "nobody listens at " + displayURL(base) + ": start Ollama",
			Limits: limits, Base: base,
		}),
	}
	p.vectors = wire.NewVectors(p.faults)
	if p.log == nil {
		p.log = slog.New(slog.DiscardHandler)
	}
	p.lessons = wire.NewLessons(wire.NewTools(name, lowerTool, cfg.Refusals, p.log))
	bounded := *p.http
	bounded.Transport = boundedTransport{p.http.Transport}
	p.client = api.NewClient(base, &bounded)
	return p, nil
}

// Name returns the endpoint's name.
func (p *Provider) Name() string { return p.name }

// parseBase parses a URL in the forms that OLLAMA_HOST allows, also with a path of the API at its
// end.
func parseBase(name, s string) (*url.URL, error) {
	s = strings.TrimSpace(s)
	if s != "" && !strings.Contains(s, "://") {
		host, path, _ := strings.Cut(s, "/")
		if _, _, err := net.SplitHostPort(host); err != nil {
			host = net.JoinHostPort(strings.Trim(host, "[]"), "11434")
		}
		s = "http://" + host + "/" + path
	}
	u, err := wire.ParseBase(name, s, DefaultBaseURL, "/chat", "/api", "/v1")
	if err != nil {
		return nil, err
	}
	if u.RawQuery != "" {
		return nil, errors.New(name + " base URL: must have no query")
	}
	// A server that listens on all addresses is reached on the loopback.
	if u.Hostname() == "0.0.0.0" {
		u.Host = strings.Replace(u.Host, "0.0.0.0", "127.0.0.1", 1)
	}
	return u, nil
}

// displayURL returns the URL as errors show it. Users of a local Ollama must see it; for other
// machines it must stay hidden from clients.
func displayURL(base *url.URL) string {
	if ip := net.ParseIP(base.Hostname()); base.Hostname() == "localhost" || ip != nil && ip.IsLoopback() {
		return (&url.URL{Scheme: base.Scheme, Host: base.Host, Path: base.Path}).String()
	}
	return "[server]"
}

// parseKeepAlive converts the forms of keep_alive to the one that the server accepts: it rejects
// the string "-1".
func parseKeepAlive(s string) (*api.Duration, error) {
	s = strings.TrimSpace(s)
	if s == "" {
		return nil, nil
	}
	if seconds, err := strconv.ParseInt(s, 10, 32); err == nil {
		return &api.Duration{Duration: time.Duration(seconds) * time.Second}, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		return nil, fmt.Errorf("ollama keep_alive: %q is not a duration; write 5m, 300, 0 or -1", s)
	}
	return &api.Duration{Duration: d}, nil
}

// maxAnswer bounds unstreamed answers, in bytes.
const maxAnswer = 32 << 20

// boundedTransport bounds the answers that the api client reads whole, so that a server cannot
// fill the memory.
type boundedTransport struct{ next http.RoundTripper }

func (t boundedTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	next := t.next
	if next == nil {
		next = http.DefaultTransport
	}
	resp, err := next.RoundTrip(req)
	if err == nil {
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(resp.Body, maxAnswer), resp.Body}
	}
	return resp, err
}

// LeftOut returns why tools are omitted from requests, by name.
func (p *Provider) LeftOut(tools []schemas.ToolInfo) map[string]string {
	return p.lessons.Tools.LeftOut(tools)
}
