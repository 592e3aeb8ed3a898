// Package ollama speaks to an Ollama server: /api/chat streamed, and what is
// needed to choose a model (/api/show, /api/tags, /api/ps).
//
// It owns the lowering of the canonical history and of tool schemas to Ollama's
// wire, the reading of its stream, the size of its context window, and the
// mapping of its faults to [providers.Error]. It must not execute tools, judge
// arguments, or retry across providers.
package ollama

import (
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
	"sync/atomic"
	"time"

	"github.com/ollama/ollama/api"

	"molar/providers"
)

// Defaults of [Config] and of the configuration file.
const (
	DefaultBaseURL    = "http://127.0.0.1:11434"
	DefaultModel      = "qwen2.5:7b-instruct"
	DefaultSmallModel = "qwen2.5:3b-instruct"
	DefaultFirstByte  = 180 * time.Second
	DefaultIdle       = 20 * time.Second
)

// name is the provider's name.
const name = "ollama"

// A Config says where the server is and how patient the provider is.
type Config struct {
	// BaseURL is the server's address; "host", "host:port" and a path prefix are
	// taken too. Empty means [DefaultBaseURL].
	BaseURL string
	// HTTPClient must have no overall timeout: streams are long. Nil means one with
	// a transport of its own.
	HTTPClient *http.Client
	// FirstByte bounds the wait for the first output (which includes loading the
	// model), Idle every later wait; while tools are offered and no text has come,
	// 120 s at least. Zero means the defaults.
	FirstByte time.Duration
	Idle      time.Duration
	// KeepAlive is how long the server keeps a model loaded: a duration ("5m"), a
	// number of seconds ("300"), "0" for not at all, "-1" for ever. Empty leaves it
	// to the server.
	KeepAlive string
	// Think lets models that can think do so; else they are told not to.
	Think  bool
	Logger *slog.Logger
}

// A Provider is a [providers.Provider] over one Ollama server. It may be used by
// many goroutines.
type Provider struct {
	base      *url.URL
	shown     string // the address without user and password, for messages
	http      *http.Client
	client    *api.Client
	firstByte time.Duration
	idle      time.Duration
	keepAlive *api.Duration
	think     bool
	log       *slog.Logger

	models   modelCache
	windows  windows
	tools    toolCache
	salvaged atomic.Int64
	left     sync.Map // models whose last stream was cut short
}

var _ providers.Provider = (*Provider)(nil)

// New checks cfg and returns a provider. It does not contact the server.
func New(cfg Config) (*Provider, error) {
	base, err := parseBase(cfg.BaseURL)
	if err != nil {
		return nil, err
	}
	keepAlive, err := parseKeepAlive(cfg.KeepAlive)
	if err != nil {
		return nil, err
	}
	if cfg.FirstByte < 0 || cfg.Idle < 0 {
		return nil, errors.New("ollama timeout: must not be negative")
	}
	p := &Provider{
		base:      base,
		shown:     (&url.URL{Scheme: base.Scheme, Host: base.Host, Path: base.Path}).String(),
		http:      cfg.HTTPClient,
		firstByte: cfg.FirstByte,
		idle:      cfg.Idle,
		keepAlive: keepAlive,
		think:     cfg.Think,
		log:       cfg.Logger,
	}
	if p.http == nil {
		p.http = &http.Client{Transport: newTransport()}
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
	bounded := *p.http
	bounded.Transport = boundedTransport{p.http.Transport}
	p.client = api.NewClient(base, &bounded)
	return p, nil
}

// Name returns "ollama".
func (p *Provider) Name() string { return name }

// Salvaged says how many tool calls were printed as text and read as calls since
// the start.
func (p *Provider) Salvaged() int64 { return p.salvaged.Load() }

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

// parseBase reads an address in the forms that OLLAMA_HOST allows.
func parseBase(s string) (*url.URL, error) {
	s = strings.TrimSpace(s)
	if s == "" {
		s = DefaultBaseURL
	}
	if !strings.Contains(s, "://") {
		host, path, _ := strings.Cut(s, "/")
		if _, _, err := net.SplitHostPort(host); err != nil {
			host = net.JoinHostPort(strings.Trim(host, "[]"), "11434")
		}
		s = "http://" + host + "/" + path
	}
	u, err := url.Parse(s)
	if err != nil {
		// The error of url.Parse quotes the address, which may hold a password.
		return nil, errors.New("ollama base URL: not an address; write it like " + DefaultBaseURL)
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("ollama base URL: scheme %q is neither http nor https", u.Scheme)
	case u.Host == "":
		return nil, errors.New("ollama base URL: names no host; write it like " + DefaultBaseURL)
	case u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("ollama base URL: must have no query and no fragment")
	}
	// A server told to listen everywhere is reached on the loopback.
	if u.Hostname() == "0.0.0.0" {
		u.Host = strings.Replace(u.Host, "0.0.0.0", "127.0.0.1", 1)
	}
	u.Path = strings.TrimRight(u.Path, "/")
	return u, nil
}

// parseKeepAlive brings the forms of keep_alive to the one that the server takes
// in each case: it refuses the string "-1".
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
		return nil, fmt.Errorf("ollama keep_alive: %q is no duration; write 5m, 300, 0 or -1", s)
	}
	return &api.Duration{Duration: d}, nil
}

// maxAnswer bounds answers that are read whole.
const maxAnswer = 32 << 20

// boundedTransport keeps a server from filling the memory through answers that
// the api client reads whole.
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
