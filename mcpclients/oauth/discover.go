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

// ErrNoLogin means that a server asks for no login.
var ErrNoLogin = errors.New("the server asks for no login")

// A probe is what a server answered to somebody without a token.
type probe struct {
	Challenge
	refused bool
	status  int
	inside  zone
	session string
}

// What a probe sends: what a client begins with, and, to a server that lets everybody
// say that, what comes next. The empty message is a GET, which opens the older transport.
const (
	initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",` +
		`"capabilities":{},"clientInfo":{"name":"molar","version":"0"}}}`
	listTools = `{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}`
	openSSE   = ""
)

// probe asks the server something without a token, to be refused and told why.
func (c *Client) probe(ctx context.Context, s Server) (p probe, err error) {
	if err := checkAddress(s.URL, loopback); err != nil {
		return probe{}, fmt.Errorf("correct mcpServers.%s.url: %w", s.Name, err)
	}
	ask := c.caller(loopback)
	for _, message := range []string{initialize, listTools, openSSE} {
		if s.SSE && message != openSSE {
			continue
		}
		if err := c.probeWith(ctx, ask, s, message, &p); err != nil {
			return probe{}, err
		}
		if p.refused {
			break
		}
	}
	return p, nil
}

func (c *Client) probeWith(ctx context.Context, ask *caller, s Server, message string, p *probe) error {
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
		return fmt.Errorf("correct mcpServers.%s.url: it is no address", s.Name)
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
	if ask.proxied.Proxy != nil {
		proxy, err := ask.proxied.Proxy(r)
		behindProxy = err == nil && proxy != nil
	}
	resp, err := ask.RoundTrip(r)
	if err != nil {
		if _, bad := errors.AsType[*tls.CertificateVerificationError](err); bad {
			return fmt.Errorf("reach the server: %w; name its authority in ca_file", err)
		}
		return fmt.Errorf("reach the server: %w", err)
	}
	_ = resp.Body.Close() // which may be a stream without end
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

// described is what a server says of itself (RFC 9728).
type described struct {
	Resource string   `json:"resource"`
	Servers  []string `json:"authorization_servers"`
	Scopes   []string `json:"scopes_supported"`
}

// describe finds what the server says of itself: where its refusal points, else at
// the well-known places. found is false for a server of the first revision that
// knows no such document.
func (c *caller) describe(ctx context.Context, s Server, challenge Challenge) (d described, found bool, err error) {
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
		d = described{}
		found, err := c.get(ctx, place, &d)
		if err != nil {
			faults = append(faults, fmt.Errorf("read what the server says of itself: %w", err))
			continue
		}
		if !found || (d.Resource == "" && len(d.Servers) == 0) {
			continue
		}
		return d, true, d.check(s)
	}
	return described{}, false, errors.Join(faults...)
}

// check refuses a document that speaks of another server: whoever wrote it could
// otherwise have tokens made for that one.
func (d *described) check(s Server) error {
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
	// NamesIssuer says that every redirect carries the issuer (RFC 9207).
	NamesIssuer bool `json:"authorization_response_iss_parameter_supported"`
}

// authorityOf is what is wanted of an authorization server.
type authorityOf struct {
	// guess allows the addresses of the first revision of MCP when it says nothing of
	// itself.
	guess bool
	// person tells that a person logs in there.
	person bool
}

// authority reads what an authorization server says of itself.
func (c *caller) authority(ctx context.Context, issuer string, of authorityOf) (authority, error) {
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
				issuer = a.Issuer // it speaks for itself: nobody named it
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
	return authority{}, fmt.Errorf("read what the authorization server %s says of itself: %w", printable(issuer, 200), errors.Join(faults...))
}

// check refuses what names another issuer, which is how one authorization server
// passes for another, and addresses that nothing secret may go to.
func (a *authority) check(issuer string, inside zone, person bool) error {
	if strings.TrimSuffix(a.Issuer, "/") != strings.TrimSuffix(issuer, "/") {
		return fmt.Errorf("the authorization server %s says that it is %q: tell who runs it, a login would not be safe", printable(issuer, 200), printable(a.Issuer, 200))
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
		return fmt.Errorf("the authorization server %s does not say that it checks PKCE with S256, without which a login is not safe", printable(issuer, 200))
	}
	return nil
}
