// Package gemini speaks to Google's Gemini models over the Gemini Developer API,
// on google.golang.org/genai.
//
// It owns the lowering of the canonical history and of tools to Gemini's wire, the
// keeping of thought signatures beside the parts that they belong to, the reading
// of the stream, the retries before the first output, and the mapping of faults to
// [providers.Error]. It must not execute tools, judge arguments, or choose models.
//
// The SDK carries requests and decodes answers. What it would lose on the way is
// written and read here: the history and the tools (it drops empty texts, sorts
// keys and rounds numbers), the arguments of calls, and the reason why a stream
// ended.
package gemini

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"google.golang.org/genai"

	"molar/providers"
)

// Defaults of [Config].
const (
	DefaultBaseURL   = "https://generativelanguage.googleapis.com"
	DefaultFirstByte = 180 * time.Second
	DefaultIdle      = 20 * time.Second
)

// name is the provider's name.
const name = "gemini"

// A Config says how to reach Gemini and how patient the provider is. No
// environment variable changes any of it.
type Config struct {
	// APIKey is sent in a header to BaseURL and nowhere else. It must not be empty.
	APIKey string
	// BaseURL is the service's address, with a path prefix where a gateway has one.
	// Empty means [DefaultBaseURL].
	BaseURL string
	// HTTPClient is copied; its overall timeout and its handling of redirects are
	// not used: streams are long, and a redirect would carry the key elsewhere. Nil
	// means one with a transport of its own.
	HTTPClient *http.Client
	// FirstByte bounds the wait for the first output, Idle every later one. Zero
	// means the defaults.
	FirstByte time.Duration
	Idle      time.Duration
	// Logger gets what was left out of requests; nil means none.
	Logger *slog.Logger
}

// A Provider is a [providers.Provider] over the Gemini API. It may be used by many
// goroutines.
type Provider struct {
	client    *genai.Client
	key       string
	shown     string // the address, for messages
	queries   *regexp.Regexp
	firstByte time.Duration
	idle      time.Duration
	log       *slog.Logger
	tools     toolCache
}

var _ providers.Provider = (*Provider)(nil)

// New checks cfg and returns a provider. It does not contact the service.
func New(cfg Config) (*Provider, error) {
	key := strings.TrimSpace(cfg.APIKey)
	if key == "" || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, errors.New("gemini API key: empty or not an API key; set GEMINI_API_KEY")
	}
	base, err := parseBase(cfg.BaseURL)
	if err != nil {
		return nil, err
	}
	if cfg.FirstByte < 0 || cfg.Idle < 0 {
		return nil, errors.New("gemini timeout: must not be negative")
	}
	p := &Provider{
		key:       key,
		shown:     base.String(),
		queries:   regexp.MustCompile(`(?i)([a-z][a-z0-9+.-]*://[^\s?"'<>]*)\?[^\s"'<>]*`),
		firstByte: cfg.FirstByte,
		idle:      cfg.Idle,
		log:       cfg.Logger,
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
	// Backend and address are always given: the SDK would ask the environment.
	p.client, err = genai.NewClient(context.Background(), &genai.ClientConfig{
		APIKey:      key,
		Backend:     genai.BackendGeminiAPI,
		HTTPClient:  httpClient(cfg.HTTPClient),
		HTTPOptions: genai.HTTPOptions{BaseURL: base.String(), APIVersion: apiVersion},
	})
	if err != nil {
		// The SDK's error prints its whole configuration, the key included.
		return nil, errors.New("gemini client: the SDK refused the configuration; check the API key and the base URL")
	}
	return p, nil
}

// Name returns "gemini".
func (p *Provider) Name() string { return name }

// apiVersion is a part of the path of every request.
const apiVersion = "v1beta"

func parseBase(s string) (*url.URL, error) {
	s = strings.TrimSpace(s)
	if s == "" {
		s = DefaultBaseURL
	}
	u, err := url.Parse(s)
	if err != nil {
		// The error of url.Parse quotes the address, which may hold a secret.
		return nil, errors.New("gemini base URL: not an address; write it like " + DefaultBaseURL)
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("gemini base URL: scheme %q is neither http nor https", u.Scheme)
	case u.Host == "":
		return nil, errors.New("gemini base URL: names no host; write it like " + DefaultBaseURL)
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("gemini base URL: must have no user, no query and no fragment; the key has a setting of its own")
	}
	// The version is added to every path; people paste it with the address.
	u.Path = strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/"+apiVersion)
	return u, nil
}

// httpClient copies the client given and puts our transport around its own.
func httpClient(given *http.Client) *http.Client {
	client := http.Client{}
	if given != nil {
		client = *given
	} else {
		client.Transport = newTransport()
	}
	if client.Transport == nil {
		client.Transport = http.DefaultTransport
	}
	client.Transport = transport{client.Transport}
	client.Timeout = 0
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &client
}

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
