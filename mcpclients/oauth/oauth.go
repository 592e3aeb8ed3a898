// Package oauth logs a person in at an MCP server over HTTP and keeps the login
// alive: OAuth 2.1 as the MCP authorization specification (2025-11-25, 2026-07-28)
// uses it, from the refusal of the server to the tokens and their renewal.
//
// A token belongs to one server: it is sent to the origin of its URL and to no other
// place, and never in clear but on loopback. The package asks no person and opens no
// browser, knows nothing of MCP beyond the refusal, and puts no token, code or secret
// into an error or a log.
//
// The logins without a person are ours, although the official Go SDK of MCP has them
// (auth/extauth, v1.8.0): it signs with no private key, names no resource to the token
// endpoint of a client that logs in as itself, and refuses authorization servers without
// PKCE, which these logins do not use. Its errors quote the answer of the authorization
// server, and so a secret that the answer repeats.
package oauth

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Limits.
const (
	// callTimeout bounds one exchange with an authorization server.
	callTimeout = 15 * time.Second
	// maxBody is how much of an answer is read.
	maxBody = 256 << 10
)

// A Server is the MCP server that a login is for.
type Server struct {
	// Name is what people call it; the login is kept under it.
	Name string
	URL  string
	// Headers go with the request that finds out what the server wants.
	Headers map[string]string
	// SSE says that the server speaks the older transport.
	SSE bool
	Settings
}

// Settings are what an operator may say about the login. All may be zero.
type Settings struct {
	// ClientID is a client that was registered by hand; ClientSecret its secret, if any.
	// Without it a client registers itself at every login.
	ClientID, ClientSecret string
	// Scopes are asked for instead of those that the server names.
	Scopes []string
	// RedirectPort is the port on 127.0.0.1 that the browser comes back to; 0 takes any.
	RedirectPort int
	// Grant is [GrantClient] for a login without a person; "" asks a person.
	Grant string
	// PrivateKey, in PEM, signs who the client is, in place of ClientSecret.
	PrivateKey string
	// Identity is who vouches for the person where the host logs in on their behalf.
	Identity Identity
}

// An Identity is a person's standing at an identity provider, which a server's
// authorization server trusts (cross-app access).
type Identity struct {
	// Issuer is the identity provider; "" means none.
	Issuer string
	// ClientID and ClientSecret are of the host's client there; "" means the one at the
	// authorization server, and none.
	ClientID, ClientSecret string
	// Token is the person's ID token, or stands in TokenFile, which is read each time.
	Token, TokenFile string
}

// A Client speaks to authorization servers.
type Client struct {
	base *http.Transport
	now  func() time.Time
}

// NewClient returns a client over the settings of base (authorities, proxies), whose
// connections it does not share; nil means the defaults. now is the clock; nil means
// the system's.
func NewClient(base http.RoundTripper, now func() time.Time) (*Client, error) {
	if now == nil {
		now = time.Now
	}
	switch t := base.(type) {
	case nil:
		return &Client{base: &http.Transport{Proxy: http.ProxyFromEnvironment}, now: now}, nil
	case *http.Transport:
		return &Client{base: t, now: now}, nil
	default:
		return nil, fmt.Errorf("logins at MCP servers need an *http.Transport, to see where it connects to, not %T", base)
	}
}

// resource is the URL that names a server to its authorization server: without what
// may be secret in it.
func resource(raw string) (string, error) {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return "", errors.New("the url of the server cannot be read")
	}
	clean := url.URL{Scheme: strings.ToLower(u.Scheme), Host: strings.ToLower(u.Host), Path: u.Path, RawPath: u.RawPath}
	if clean.Path == "/" {
		clean.Path, clean.RawPath = "", ""
	}
	return clean.String(), nil
}

// covers reports whether a URL lies at or below the one that metadata speaks of.
func covers(above, raw string) bool {
	a, errA := url.Parse(above)
	b, errB := url.Parse(raw)
	if errA != nil || errB != nil || !strings.EqualFold(a.Scheme, b.Scheme) || !strings.EqualFold(a.Host, b.Host) {
		return false
	}
	prefix := strings.TrimSuffix(a.EscapedPath(), "/")
	rest, ok := strings.CutPrefix(b.EscapedPath(), prefix)
	return ok && (rest == "" || rest[0] == '/')
}

// A RefusalError is the answer of an authorization server that said no.
type RefusalError struct {
	// Code is the error code of OAuth, such as invalid_grant; it may be empty.
	Code string
	// Description is the server's own, made safe to print; it may be empty.
	Description string
	// Status is the HTTP status, 0 for a refusal that came through the browser.
	Status int
}

func (r *RefusalError) Error() string {
	text := "the authorization server refused"
	if r.Code != "" {
		text += ": " + r.Code
	}
	if r.Description != "" {
		text += " (" + r.Description + ")"
	}
	if r.Code == "" && r.Status != 0 {
		text += fmt.Sprintf(" with HTTP %d %s", r.Status, http.StatusText(r.Status))
	}
	return text
}

// final reports whether the same question would be refused again.
func (r *RefusalError) final() bool {
	return r.Code != "" && r.Code != "temporarily_unavailable" && r.Code != "server_error" && r.Code != "slow_down" &&
		r.Status < http.StatusInternalServerError && r.Status != http.StatusTooManyRequests
}

// newRefusal makes what a server said safe to print: short, visible, and without the
// secrets that were sent to it.
func newRefusal(status int, code, description string, secrets ...string) *RefusalError {
	for _, secret := range secrets {
		if len(secret) > 3 {
			code, description = strings.ReplaceAll(code, secret, "***"), strings.ReplaceAll(description, secret, "***")
		}
	}
	return &RefusalError{Status: status, Code: printable(code, 60), Description: printable(description, 200)}
}

// printable keeps the plain characters of a text of others.
func printable(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return -1
		}
		return r
	}, text)
	return text[:min(len(text), most)]
}
