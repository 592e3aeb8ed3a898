// Package openai speaks to OpenAI and to the servers that offer its API: vLLM,
// llama.cpp, LM Studio and gateways.
//
// It owns the lowering of the canonical history and of tool schemas to that wire,
// the reading of its event stream, the putting together of streamed tool calls,
// and the mapping of its faults to [providers.Error]. It must not execute tools,
// judge arguments, or choose another provider.
package openai

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"molar/providers"
)

// Defaults of [Config].
const (
	DefaultBaseURL   = "https://api.openai.com/v1"
	DefaultFirstByte = 180 * time.Second
	DefaultIdle      = 20 * time.Second
)

// name is the provider's name.
const name = "openai"

// A Config says where the service is and how patient the provider is.
type Config struct {
	// APIKey goes into the Authorization header; local servers need none.
	APIKey string
	// BaseURL is the address below which chat/completions lies, a path and a query
	// included. Empty means [DefaultBaseURL].
	BaseURL string
	// HTTPClient must have no overall timeout: streams are long. Nil means one with
	// a transport of its own that follows no redirects.
	HTTPClient *http.Client
	// FirstByte bounds the wait for the first output, with all retries in it; Idle
	// bounds every later wait. Zero means the defaults.
	FirstByte time.Duration
	Idle      time.Duration
	Logger    *slog.Logger
}

// A Provider is a [providers.Provider] over one service. It may be used by many
// goroutines.
type Provider struct {
	key       string
	chat      string // the address of chat/completions
	models    string // the address of models
	original  bool   // the service is OpenAI's own
	http      *http.Client
	firstByte time.Duration
	idle      time.Duration
	log       *slog.Logger
	scrub     scrubber

	tools  toolCache
	quirks quirks
}

var _ providers.Provider = (*Provider)(nil)

// New checks cfg and returns a provider. It does not contact the service.
func New(cfg Config) (*Provider, error) {
	base, err := parseBase(cfg.BaseURL)
	if err != nil {
		return nil, err
	}
	key := strings.TrimSpace(cfg.APIKey)
	if strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, errors.New("openai API key: holds blanks or characters that no key has; copy it again")
	}
	if cfg.FirstByte < 0 || cfg.Idle < 0 {
		return nil, errors.New("openai timeout: must not be negative")
	}
	p := &Provider{
		key:       key,
		chat:      base.JoinPath("chat/completions").String(),
		models:    base.JoinPath("models").String(),
		original:  strings.EqualFold(base.Hostname(), "api.openai.com"),
		http:      cfg.HTTPClient,
		firstByte: cfg.FirstByte,
		idle:      cfg.Idle,
		log:       cfg.Logger,
		scrub:     newScrubber(key, base),
	}
	if p.http == nil {
		p.http = &http.Client{Transport: newTransport(), CheckRedirect: stay}
	}
	if p.firstByte == 0 {
		p.firstByte = DefaultFirstByte
	}
	if p.idle == 0 {
		p.idle = DefaultIdle
	}
	if p.log == nil {
		p.log = slog.New(slog.DiscardHandler)
	}
	return p, nil
}

// Name returns "openai".
func (p *Provider) Name() string { return name }

// newTransport keeps many idle connections: the default of two for each host
// halves the throughput of parallel streams. Buffers are small, since every open
// stream holds a connection and its pieces are short; what is larger passes them by.
func newTransport() *http.Transport {
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		MaxIdleConns:        1024,
		MaxIdleConnsPerHost: 1024,
		IdleConnTimeout:     90 * time.Second,
		ReadBufferSize:      2 << 10,
		WriteBufferSize:     1 << 10,
		TLSHandshakeTimeout: 10 * time.Second,
		ForceAttemptHTTP2:   true,
	}
}

// stay keeps prompts and the key at the address that the operator named.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// parseBase reads the base address. Its errors do not quote it, because it may
// hold a password.
func parseBase(s string) (*url.URL, error) {
	if s = strings.TrimSpace(s); s == "" {
		s = DefaultBaseURL
	}
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return nil, errors.New("openai base URL: not an address; write it like " + DefaultBaseURL)
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("openai base URL: must start with http:// or https://, like %s", DefaultBaseURL)
	case u.Hostname() == "":
		return nil, errors.New("openai base URL: names no host; write it like " + DefaultBaseURL)
	case u.Fragment != "":
		return nil, errors.New("openai base URL: must have no fragment")
	}
	// People copy the whole address out of examples.
	u.Path = strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/chat/completions")
	u.RawPath = ""
	return u, nil
}
