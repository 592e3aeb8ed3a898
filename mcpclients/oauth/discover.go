package oauth

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// ErrNoLogin means that a server requires no login.
var ErrNoLogin = errors.New("the server asks for no login")

// A probe is a server's answer to a request without a token.
type probe struct {
	Challenge
	refused bool
	status  int
	inside  zone
	session string
}

// The messages of a probe: a client's first, and its second for a server that requires no token
// for the first. The empty message is a GET, which opens the older transport.
const (
	initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",` +
		`"capabilities":{},"clientInfo":{"name":"molar","version":"0"}}}`
	listTools = `{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}`
	openSSE   = ""
)

// probe sends requests without a token, to get the server's challenge.
func (c *Client) probe(ctx context.Context, s Server) (p probe, err error) {
	if err := checkAddress(s.URL, loopback); err != nil {
		return probe{}, fmt.Errorf("correct mcpServers.%s.url: %w", s.Name, err)
	}
	client := c.restrictedClient(loopback)
	for _, message := range []string{initialize, listTools, openSSE} {
		if s.SSE && message != openSSE {
			continue
		}
		if err := c.probeWith(ctx, client, s, message, &p); err != nil {
			return probe{}, err
		}
		if p.refused {
			break
		}
	}
	return p, nil
}

func (c *Client) probeWith(ctx context.Context, client *restrictedClient, s Server, message string, p *probe) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	p.inside = zoneOfHost(hostOf(s.URL))
	trace := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		if to, err := netip.ParseAddrPort(info.Conn.RemoteAddr().String()); err == nil {
			p.inside = zoneOf(to.Addr())
		}
	}})
	method := http.MethodPost
	if message == openSSE {
		method = http.MethodGet
	}
	r, err := http.NewRequestWithContext(trace, method, s.URL, strings.NewReader(message))
	if err != nil {
		return fmt.Errorf("correct mcpServers.%s.url: it is not an address", s.Name)
	}
	if message != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if p.session != "" {
		r.Header.Set("Mcp-Session-Id", p.session)
		r.Header.Set("MCP-Protocol-Version", "2025-11-25")
	}
	for name, value := range s.Headers {
		r.Header.Set(name, value)
	}
	r.Header.Set("Accept", "application/json, text/event-stream")
	behindProxy := false
	if client.proxied.Proxy != nil {
		proxy, err := client.proxied.Proxy(r)
		behindProxy = err == nil && proxy != nil
	}
	resp, err := client.RoundTrip(r)
	if err != nil {
		if _, bad := errors.AsType[*tls.CertificateVerificationError](err); bad {
			return fmt.Errorf("reach the server: %w; name its authority in ca_file", err)
		}
		return fmt.Errorf("reach the server: %w", err)
	}
	_ = resp.Body.Close() // which may be an endless stream
	if behindProxy {
		p.inside = zoneOfHost(r.URL.Hostname())
	}
	p.session = cmp.Or(resp.Header.Get("Mcp-Session-Id"), p.session)
	p.status, p.refused, p.Challenge = resp.StatusCode, resp.StatusCode == http.StatusUnauthorized, ParseChallenge(resp.Header)
	return nil
}

func hostOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// metadata is a server's metadata (RFC 9728).
type metadata struct {
	Resource string   `json:"resource"`
	Servers  []string `json:"authorization_servers"`
	Scopes   []string `json:"scopes_supported"`
}

// fetchMetadata fetches the server's metadata from the challenge's URL, else from the well-known
// URLs. found is false for a server of the first revision, which has no such document.
func (c *restrictedClient) fetchMetadata(ctx context.Context, s Server, challenge Challenge) (d metadata, found bool, err error) {
	u, err := url.Parse(s.URL)
	if err != nil {
		return d, false, err
	}
	origin := url.URL{Scheme: u.Scheme, Host: u.Host}
	const known = "/.well-known/oauth-protected-resource"
	places := []string{origin.String() + known + strings.TrimSuffix(u.EscapedPath(), "/"), origin.String() + known}
	if challenge.Metadata != "" {
		places = append([]string{challenge.Metadata}, places...)
	}
	var faults []error
	for _, place := range slices.Compact(places) {
		d = metadata{}
		found, err := c.get(ctx, place, &d)
		if err != nil {
			faults = append(faults, fmt.Errorf("read the server's metadata: %w", err))
			continue
		}
		if !found || (d.Resource == "" && len(d.Servers) == 0) {
			continue
		}
		return d, true, d.check(s)
	}
	return metadata{}, false, errors.Join(faults...)
}

// check rejects metadata of another server: its author could otherwise obtain tokens for that
// server.
func (d *metadata) check(s Server) error {
	if d.Resource != "" && !covers(d.Resource, s.URL) {
		return fmt.Errorf("the server describes itself as %s, which is not its url: correct mcpServers.%s.url", printable(d.Resource, 200), s.Name)
	}
	if len(d.Servers) == 0 {
		return errors.New("the server names no authorization server: it cannot be logged in to")
	}
	return nil
}

// An authority is an authorization server (RFC 8414, OpenID Connect Discovery).
type authority struct {
	Issuer     string   `json:"issuer"`
	Authorize  string   `json:"authorization_endpoint"`
	Token      string   `json:"token_endpoint"`
	Register   string   `json:"registration_endpoint"`
	Revoke     string   `json:"revocation_endpoint"`
	Scopes     []string `json:"scopes_supported"`
	Challenges []string `json:"code_challenge_methods_supported"`
	Auth       []string `json:"token_endpoint_auth_methods_supported"`
	// NamesIssuer is set if every redirect carries the issuer (RFC 9207).
	NamesIssuer bool `json:"authorization_response_iss_parameter_supported"`
}

// requirements holds the requirements on an authorization server.
type requirements struct {
	// guess allows the default endpoints of MCP's first revision if there is no metadata.
	guess bool
	// person is set if a person logs in there.
	person bool
}

// authority fetches the metadata of an authorization server.
func (c *restrictedClient) authority(ctx context.Context, issuer string, of requirements) (authority, error) {
	if err := checkAddress(issuer, c.inside); err != nil {
		return authority{}, fmt.Errorf("the authorization server: %w", err)
	}
	u, err := url.Parse(issuer)
	if err != nil {
		return authority{}, err
	}
	root, path := u.Scheme+"://"+u.Host, strings.TrimSuffix(u.EscapedPath(), "/")
	places := []string{root + "/.well-known/oauth-authorization-server" + path, root + "/.well-known/openid-configuration" + path}
	if path != "" {
		places = append(places, root+path+"/.well-known/openid-configuration")
	}
	var faults []error
	for _, place := range places {
		var a authority
		found, err := c.get(ctx, place, &a)
		switch {
		case err != nil:
			faults = append(faults, err)
		case found && a.Token != "":
			if of.guess && covers(root, a.Issuer) {
				issuer = a.Issuer // guessed, so its own metadata names the issuer
			}
			return a, a.check(issuer, c.inside, of.person)
		}
	}
	if of.guess && len(faults) == 0 {
		return authority{Issuer: root, Authorize: root + "/authorize", Token: root + "/token", Register: root + "/register"}, nil
	}
	if len(faults) == 0 {
		faults = append(faults, errors.New("there is no document at its well-known addresses"))
	}
	return authority{}, fmt.Errorf("read the metadata of the authorization server %s: %w", printable(issuer, 200), errors.Join(faults...))
}

// check rejects another issuer, since one authorization server could then pose as another, and
// endpoints that must not get secrets.
func (a *authority) check(issuer string, inside zone, person bool) error {
	if strings.TrimSuffix(a.Issuer, "/") != strings.TrimSuffix(issuer, "/") {
		return fmt.Errorf("the authorization server %s claims to be %q: tell its operator, a login would not be safe", printable(issuer, 200), printable(a.Issuer, 200))
	}
	for _, endpoint := range []struct{ what, url string }{
		{"authorization_endpoint", a.Authorize},
		{"token_endpoint", a.Token},
		{"registration_endpoint", a.Register},
		{"revocation_endpoint", a.Revoke},
	} {
		needed := endpoint.what == "token_endpoint" || person && endpoint.what == "authorization_endpoint"
		if endpoint.url == "" && !needed {
			continue
		}
		if err := checkAddress(endpoint.url, inside); err != nil {
			return fmt.Errorf("%s of %s: %w", endpoint.what, printable(issuer, 200), err)
		}
	}
	if person && !slices.Contains(a.Challenges, "S256") {
		return fmt.Errorf("the authorization server %s does not announce PKCE with S256, without which a login is not safe", printable(issuer, 200))
	}
	return nil
}
