// Package httpguard protects a port: its middleware checks the Host header, refuses requests from
// pages of other sites, accepts bodies only as JSON and up to a size limit, and sets the security
// headers. It also holds the keys that a port accepts, and limits the rate of calls. Both of
// Molar's ports use it.
//
// It does not depend on routes, on the store of the keys or on handlers. The only responses that it
// writes itself are refusals, as OpenAI error objects.
package httpguard

import (
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
)

// DefaultMaxBody is the largest request body if [Config] sets none, in bytes.
const DefaultMaxBody = 4 << 20

// Config configures which requests are accepted.
type Config struct {
	// Hosts are the accepted values of the Host header, with their port unless it is the default
	// of the scheme; [Hosts] returns them. Case is ignored.
	Hosts []string
	// Open are the paths that skip the Host check, such as "/health".
	Open []string
	// Proven reports whether no page of a browser can have made the request, so that its Host
	// does not matter; nil means never.
	Proven func(*http.Request) bool
	// MaxBody is the largest request body in bytes; zero means [DefaultMaxBody].
	MaxBody int64
	// Setting is the operator's name for MaxBody, for errors; it may be empty.
	Setting string
	// Files are the paths whose bodies may hold files: there a body may have eight times as
	// many bytes, as long as all such large bodies together have at most 64 times as many.
	Files []string
	// Forms are the paths that accept a form of a page beside JSON. A page of another site can send one
	// only with its own Origin, which is refused.
	Forms []string
}

// New returns the middleware. It fails if no host is allowed, or one of them is invalid.
func New(cfg Config) (func(http.Handler) http.Handler, error) {
	g := &guard{proven: cfg.Proven, hosts: map[string]bool{}, open: map[string]bool{}, files: map[string]bool{}, forms: map[string]bool{}, maxBody: cfg.MaxBody, setting: cfg.Setting, origin: http.NewCrossOriginProtection()}
	if len(cfg.Hosts) == 0 {
		return nil, errors.New("no allowed host: give the host and port that the server listens on")
	}
	for _, h := range cfg.Hosts {
		if h == "" || strings.ContainsAny(h, "/@*? ") {
			return nil, fmt.Errorf("allowed host %q: want host or host:port, without scheme, path or wildcard", h)
		}
		g.hosts[strings.ToLower(h)] = true
	}
	for _, p := range cfg.Open {
		g.open[p] = true
	}
	for _, p := range cfg.Files {
		g.files[p] = true
	}
	for _, p := range cfg.Forms {
		g.forms[p] = true
	}
	if g.maxBody < 0 {
		return nil, fmt.Errorf("body limit %d: want a size in bytes above zero", g.maxBody)
	}
	if g.maxBody == 0 {
		g.maxBody = DefaultMaxBody
	}
	return func(next http.Handler) http.Handler { return g.wrap(next) }, nil
}

type guard struct {
	hosts   map[string]bool
	open    map[string]bool
	proven  func(*http.Request) bool
	files   map[string]bool
	forms   map[string]bool
	maxBody int64
	setting string
	large   atomic.Int64 // bytes of the large bodies in flight
	origin  *http.CrossOriginProtection
}

func (g *guard) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		setHeaders(w.Header(), r)
		if ref := g.check(r); ref != nil {
			ref.Write(w, r)
			return
		}
		if r.Body != nil {
			r.Body = http.MaxBytesReader(w, r.Body, g.limit(r))
			if g.files[r.URL.Path] {
				body := &largeBody{ReadCloser: r.Body, guard: g, size: r.ContentLength}
				defer body.release()
				r.Body = body
			}
			if r.ContentLength != 0 {
				r.Body = timely(w, r.Body)
			}
		}
		next.ServeHTTP(w, r)
	})
}

// limit returns how many bytes the body of r may have.
func (g *guard) limit(r *http.Request) int64 {
	if g.files[r.URL.Path] {
		return withFiles * g.maxBody
	}
	return g.maxBody
}

// TooLarge returns the message for a body of more bytes than limit, which follows from the
// setting, if that is not empty.
func TooLarge(limit int64, setting string) string {
	message := fmt.Sprintf("the body is larger than %d bytes", limit)
	if setting != "" {
		message += fmt.Sprintf(" (%s, times %d where files may come along)", setting, withFiles)
	}
	return message
}

// check returns why r is refused, or nil. The cheap and specific checks come first, and none
// of them reads the body.
func (g *guard) check(r *http.Request) *Refusal {
	open := g.open[r.URL.Path] || g.proven != nil && g.proven(r)
	if !open {
		if r.Host == "" {
			return refuse(http.StatusBadRequest, "host_missing", "the request has no Host header")
		}
		if !g.hosts[strings.ToLower(r.Host)] {
			return refuse(http.StatusForbidden, "host_not_allowed",
				"this server does not answer to that Host; add it to allowed_hosts if it is yours")
		}
	}
	if safe(r.Method) {
		if !open && foreignOrigin(r) {
			return crossOrigin()
		}
		return nil
	}
	if len(r.Header.Values("Origin")) > 1 || g.origin.Check(r) != nil {
		return crossOrigin()
	}
	if limit := g.limit(r); r.ContentLength > limit {
		return refuse(http.StatusRequestEntityTooLarge, "request_too_large", TooLarge(limit, g.setting))
	}
	if r.ContentLength != 0 && !isType(r, "application/json") && (!g.forms[r.URL.Path] || !isType(r, "application/x-www-form-urlencoded")) {
		return refuse(http.StatusUnsupportedMediaType, "unsupported_media_type",
			"the body must be sent with Content-Type: application/json")
	}
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return refuse(http.StatusUnsupportedMediaType, "unsupported_encoding", "the body must be sent as it is, without Content-Encoding")
	}
	return nil
}

func safe(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions
}

// foreignOrigin reports whether a page of another origin makes the request with CORS.
// [http.CrossOriginProtection] lets such a GET pass, but the MCP port answers a GET with a
// stream, and no client here needs one.
func foreignOrigin(r *http.Request) bool {
	origins := r.Header.Values("Origin")
	if len(origins) == 0 {
		return false
	}
	u, err := url.Parse(origins[0])
	return len(origins) > 1 || err != nil || !strings.EqualFold(u.Host, r.Host)
}

// isType reports whether the body's type is the given one with any parameters, sent once. A page of
// another site cannot send application/json without a preflight.
func isType(r *http.Request, want string) bool {
	contentTypes := r.Header.Values("Content-Type")
	if len(contentTypes) != 1 {
		return false
	}
	mediaType, _, err := mime.ParseMediaType(contentTypes[0])
	return err == nil && mediaType == want
}

func crossOrigin() *Refusal {
	return refuse(http.StatusForbidden, "cross_origin", "requests from pages of another origin are refused")
}
