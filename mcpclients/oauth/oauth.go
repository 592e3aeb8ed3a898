// Package oauth logs a person in at an MCP server over HTTP and keeps the login valid: OAuth 2.1
// as the MCP authorization specification (2025-11-25, 2026-07-28) uses it, from the server's
// challenge to the tokens and their renewal.
//
// A token belongs to one server: it is sent only to the origin of its URL, and never in clear
// except on loopback. The package asks no person and opens no browser, depends on MCP only for
// the challenge, and puts no token, code or secret into an error or a log.
//
// This package implements the logins without a person itself, although the official Go SDK of MCP
// has them (auth/extauth, v1.8.0): the SDK signs with no private key, sends no resource to the
// token endpoint for a client that logs in as itself, and rejects authorization servers without
// PKCE, which these logins do not use. Its errors quote the authorization server's answer, and so
// any secret in it.
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
	// maxBody bounds how much of an answer is read, in bytes.
	maxBody = 256 << 10
)

// A Server is the MCP server to log in to.
type Server struct {
	// Name is the server's name in the config; the login is stored under it.
	Name string
	URL  string
	// Headers are sent with the probe.
	Headers map[string]string
	// SSE is set for the older transport.
	SSE bool
	Settings
}

// Settings are the operator's settings of the login. All may be zero.
type Settings struct {
	// ClientID is a manually registered client; ClientSecret its secret, if any. Without it a
	// client registers itself at every login.
	ClientID, ClientSecret string
	// Scopes are requested instead of those that the server names.
	Scopes []string
	// RedirectPort is the port on 127.0.0.1 of the redirect URI; 0 picks any.
	RedirectPort int
	// Grant is [GrantClient] for a login without a person; "" asks a person.
	Grant string
	// PrivateKey, in PEM, signs client assertions, in place of ClientSecret.
	PrivateKey string
	// Identity is the person's identity if the host logs in on their behalf.
	Identity Identity
}

// An Identity is a person's identity at an identity provider that a server's authorization server
// trusts (cross-app access).
type Identity struct {
	// Issuer is the identity provider; "" means none.
	Issuer string
	// ClientID and ClientSecret identify the host's client there; "" means the authorization
	// server's client id, and no secret.
	ClientID, ClientSecret string
	// Token is the person's ID token, or TokenFile holds it, which is read each time.
	Token, TokenFile string
}

// A Client talks to authorization servers.
type Client struct {
	base *http.Transport
	now  func() time.Time
}

// NewClient returns a client with the settings of base (authorities, proxies) but its own
// connections; nil means the defaults. now is the clock; nil means the system's.
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

// resource returns the URL that identifies a server to its authorization server, without possible
// secrets.
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

// covers reports whether raw lies at or below the URL in metadata.
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

// A RefusalError is a refusal by an authorization server.
type refusalError struct {
	// Code is the OAuth error code, such as invalid_grant; it may be empty.
	Code string
	// Description is the server's text, made safe to print; it may be empty.
	Description string
	// Status is the HTTP status, 0 for a refusal that came through the browser.
	Status int
}

func (r *refusalError) Error() string {
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

// final reports whether a retry would be refused too.
func (r *refusalError) final() bool {
	return r.Code != "" && r.Code != "temporarily_unavailable" && r.Code != "server_error" && r.Code != "slow_down" &&
		r.Status < http.StatusInternalServerError && r.Status != http.StatusTooManyRequests
}

// newRefusal returns a refusal with safe texts: short, visible, and without the secrets that were
// sent.
func newRefusal(status int, code, description string, secrets ...string) *refusalError {
	for _, secret := range secrets {
		if len(secret) > 3 {
			code, description = strings.ReplaceAll(code, secret, "***"), strings.ReplaceAll(description, secret, "***")
		}
	}
	return &refusalError{Status: status, Code: printable(code, 60), Description: printable(description, 200)}
}

// printable keeps the printable ASCII characters of a foreign text, at most most bytes.
func printable(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return -1
		}
		return r
	}, text)
	return text[:min(len(text), most)]
}
