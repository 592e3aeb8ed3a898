// Package oauthserver is an MCP server that requires a login, and its authorization server, on
// one loopback port, for tests. It checks a client's requests as strictly as the specifications
// allow, and can be made to misbehave. It is not part of the product.
package oauthserver

import (
	"crypto/ecdsa"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"time"
)

// Paths on the port.
const (
	MCPPath    = "/mcp"
	IssuerPath = "/as"
)

// Behaviour changes the behaviour of the two servers. The zero value conforms to the
// specification.
type Behaviour struct {
	// Challenge replaces the WWW-Authenticate of a refusal; "-" sends none.
	Challenge string
	// NoResource and NoMetadata omit the metadata documents of the two servers.
	NoResource, NoMetadata bool
	// Resource, Issuer and Metadata replace values of the documents; Metadata by key.
	Resource string
	Issuer   string
	Metadata map[string]any
	// RedirectIssuer replaces iss of the redirect; "-" omits it. State replaces state.
	RedirectIssuer, State string
	// Denies redirects the person back with an error.
	Denies bool
	// Scopes are the scopes that a call needs; with Unnamed its refusal does not list them.
	Scopes  []string
	Unnamed bool
	// Life is the lifetime of an access token; 0 sends none.
	Life time.Duration
	// RenewalFault is the answer to renewals: an error code, or a number for a bare status.
	RenewalFault string
	// OnRenewal is called at the beginning of a renewal, and may block it.
	OnRenewal func()
	// Echo quotes the client's request in error descriptions.
	Echo bool
	// Secret makes registered clients confidential.
	Secret bool
	// Handler returns true if it has answered a request itself.
	Handler func(w http.ResponseWriter, r *http.Request) bool
}

// Counts are the counts of requests so far.
type Counts struct {
	// Refused counts requests without a valid token, Calls tool calls.
	Refused, Calls int
	// Registered counts clients, Codes exchanged codes, Renewals requested renewals.
	Registered, Codes, Renewals int
	Revoked                     int
	// Alone counts tokens that were issued without a person.
	Alone int
	// Strays counts tokens that were sent to another place than the MCP server.
	Strays int
}

// A Server is both servers. Behave and the counters may be used concurrently.
type Server struct {
	*httptest.Server
	mu      sync.Mutex
	is      Behaviour
	counts  Counts
	clients map[string]client
	codes   map[string]code
	access  map[string][]string // token to scopes
	refresh map[string]bool     // token to "is spent"
	faults  []string

	assertions map[string]bool // of the identity provider
	serial     int
	now        func() time.Time
	ends       map[string]time.Time
}

type client struct {
	secret    string
	key       *ecdsa.PublicKey // in place of a secret
	redirects []string
}

type code struct {
	client, redirect, challenge, resource string
	scopes                                []string
}

// New starts the servers; Close ends them.
func New() *Server {
	s := &Server{
		clients: map[string]client{}, codes: map[string]code{}, access: map[string][]string{}, refresh: map[string]bool{},
		ends: map[string]time.Time{}, now: time.Now, assertions: map[string]bool{},
	}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	return s
}

// MCP returns the URL of the MCP server.
func (s *Server) MCP() string { return s.URL + MCPPath }

// IssuerURL returns the issuer of the authorization server.
func (s *Server) IssuerURL() string { return s.URL + IssuerPath }

// Behave changes the behaviour of the servers.
func (s *Server) Behave(change func(*Behaviour)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.is)
}

// Counts returns the counts so far.
func (s *Server) Counts() Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts
}

// Faults returns the rules that clients broke.
func (s *Server) Faults() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.faults)
}

// AddClient registers a client without a request.
func (s *Server) AddClient(id, secret string, redirects ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clients[id] = client{secret: secret, redirects: redirects}
}

// Expire invalidates all access tokens.
func (s *Server) Expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.access)
}

// Revoke invalidates all tokens.
func (s *Server) Revoke() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.access)
	clear(s.refresh)
}

// Secrets returns all issued tokens.
func (s *Server) Secrets() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for token := range s.access {
		all = append(all, token)
	}
	for token := range s.refresh {
		all = append(all, token)
	}
	return all
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	is := s.is
	if r.URL.Path != MCPPath && strings.HasPrefix(r.Header.Get("Authorization"), "Bearer ") {
		s.counts.Strays++
	}
	s.mu.Unlock()
	if is.Handler != nil && is.Handler(w, r) {
		return
	}
	switch r.URL.Path {
	case MCPPath:
		s.serveMCP(w, r, is)
	case "/.well-known/oauth-protected-resource" + MCPPath:
		if is.NoResource {
			http.NotFound(w, r)
			return
		}
		resource := s.MCP()
		if is.Resource != "" {
			resource = is.Resource
		}
		write(w, http.StatusOK, map[string]any{"resource": resource, "authorization_servers": []string{s.IssuerURL()}, "scopes_supported": []string{"read"}})
	case "/.well-known/oauth-authorization-server" + IssuerPath:
		s.serveMetadata(w, r, is)
	case "/.well-known/openid-configuration" + providerPath:
		write(w, http.StatusOK, map[string]any{"issuer": s.ProviderURL(), "token_endpoint": s.ProviderURL() + "/token"})
	case providerPath + "/token":
		s.vouch(w, r)
	case IssuerPath + "/register":
		s.register(w, r, is)
	case IssuerPath + "/authorize":
		s.authorize(w, r, is)
	case IssuerPath + "/token":
		s.token(w, r, is)
	case IssuerPath + "/revoke":
		s.mu.Lock()
		s.counts.Revoked++
		delete(s.refresh, r.PostFormValue("token"))
		s.mu.Unlock()
	default:
		http.NotFound(w, r)
	}
}

func (s *Server) serveMetadata(w http.ResponseWriter, r *http.Request, is Behaviour) {
	if is.NoMetadata {
		http.NotFound(w, r)
		return
	}
	issuer := s.IssuerURL()
	if is.Issuer != "" {
		issuer = is.Issuer
	}
	m := map[string]any{
		"issuer": issuer, "authorization_endpoint": s.IssuerURL() + "/authorize", "token_endpoint": s.IssuerURL() + "/token",
		"registration_endpoint": s.IssuerURL() + "/register", "revocation_endpoint": s.IssuerURL() + "/revoke",
		"code_challenge_methods_supported": []string{"S256"}, "authorization_response_iss_parameter_supported": true,
		"token_endpoint_auth_methods_supported": []string{"none", "client_secret_basic", "client_secret_post"},
	}
	for key, value := range is.Metadata {
		if m[key] = value; value == nil {
			delete(m, key)
		}
	}
	write(w, http.StatusOK, m)
}

func write(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}
