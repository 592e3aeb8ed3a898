package oauth

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/oauth2"
)

// ErrState means that an answer does not belong to this login.
var ErrState = errors.New("the answer belongs to another login: its state differs")

// A Login is a login in progress: the person is at the authorization server.
type Login struct {
	// URL is what the person opens in a browser.
	URL string
	// Issuer is the authorization server.
	Issuer string

	client          *Client
	server          Server
	grant           Grant
	namesIssuer     bool
	redirect        string
	state, verifier string
	used            bool
}

// Begin discovers the server's requirements, registers a client if needed, and returns the login
// for a person to complete. redirect is the redirect URI; before is the last login at this
// server, whose scopes are requested again, or nil. [ErrNoLogin] means that the server requires
// no login.
func (c *Client) Begin(ctx context.Context, s Server, redirect string, before *Grant) (*Login, error) {
	found, err := c.discover(ctx, s)
	if err != nil {
		return nil, err
	}
	a := found.authority
	l := &Login{
		client: c, server: s, Issuer: a.Issuer, namesIssuer: a.NamesIssuer, redirect: redirect,
		state: rand.Text(), verifier: oauth2.GenerateVerifier(), grant: found.grant(),
	}
	l.grant.Scopes = scopesFor(s, found.challenge, found.metadata, before)
	if err := l.identify(ctx, found.client, a); err != nil {
		return nil, err
	}
	l.URL = l.address(a)
	return l, nil
}

// A discovery holds what is known about a server and its authorization server.
type discovery struct {
	client    *restrictedClient
	here      string // the server's own URL
	resource  string // its identifier at the authorization server
	inside    zone
	challenge Challenge
	metadata  metadata
	authority authority
}

// discover finds the server's authorization server and reads its metadata.
func (c *Client) discover(ctx context.Context, s Server) (discovery, error) {
	here, err := resource(s.URL)
	if err != nil {
		return discovery{}, err
	}
	p, err := c.probe(ctx, s)
	if err != nil {
		return discovery{}, err
	}
	f := discovery{client: c.restrictedClient(p.inside), here: here, resource: here, inside: p.inside, challenge: p.Challenge}
	d, found, err := f.client.fetchMetadata(ctx, s, p.Challenge)
	if err != nil {
		return discovery{}, err
	}
	if !found && !p.refused {
		return discovery{}, fmt.Errorf("%w: it answered HTTP %d to a request without a token", ErrNoLogin, p.status)
	}
	issuer := originOf(here)
	if found {
		f.metadata, issuer, f.resource = d, d.Servers[0], cmp.Or(d.Resource, here)
	}
	f.authority, err = f.client.authority(ctx, issuer, requirements{guess: !found, person: !s.Alone()})
	return f, err
}

// grant returns the grant without tokens.
func (f *discovery) grant() Grant {
	return Grant{
		URL: f.here, Issuer: f.authority.Issuer, Resource: f.resource, TokenURL: f.authority.Token,
		RevokeURL: f.authority.Revoke, Inside: f.inside,
	}
}

func originOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// scopesFor returns the scopes to request: the operator's, else those of the challenge, else all
// that the server supports; and what an earlier login lacked.
func scopesFor(s Server, challenge Challenge, d metadata, before *Grant) []string {
	var scopes []string
	switch {
	case len(s.Scopes) > 0:
		scopes = slices.Clone(s.Scopes)
	case len(challenge.Scopes) > 0:
		scopes = slices.Clone(challenge.Scopes)
	default:
		scopes = scopesOf(strings.Join(d.Scopes, " "))
	}
	if before != nil && before.fits(s) && len(before.Wanted) > 0 {
		scopes = slices.Concat(scopes, before.Scopes, before.Wanted)
	}
	return unique(scopes)
}

// unique removes duplicates and keeps the order.
func unique(list []string) []string {
	var kept []string
	for _, one := range list {
		if !slices.Contains(kept, one) {
			kept = append(kept, one)
		}
	}
	return kept
}

// identify sets the configured client, else registers one (RFC 7591).
func (l *Login) identify(ctx context.Context, client *restrictedClient, a authority) error {
	if slices.Contains(a.Scopes, offline) && len(l.grant.Scopes) > 0 {
		l.grant.Scopes = unique(append(l.grant.Scopes, offline))
	}
	if s := l.server; s.ClientID != "" {
		l.grant.ClientID = s.ClientID
		l.grant.AuthMethod = authMethod("", &s.Settings, a.Auth)
		return nil
	}
	if a.Register == "" {
		return fmt.Errorf("the authorization server %s registers no clients: register Molar there with the redirect address %s, and put its client id into mcpServers.%s.oauth.client_id (redirect_port keeps the port)",
			printable(a.Issuer, 200), l.redirect, l.server.Name)
	}
	return l.register(ctx, client, a)
}

// offline is the scope that some servers require for refresh tokens.
const offline = "offline_access"

func (l *Login) register(ctx context.Context, client *restrictedClient, a authority) error {
	request := map[string]any{
		"client_name": "Molar", "application_type": applicationType(l.redirect), "redirect_uris": []string{l.redirect},
		"grant_types": []string{"authorization_code", "refresh_token"}, "response_types": []string{"code"},
		"token_endpoint_auth_method": registeredMethod(a.Auth),
	}
	if len(l.grant.Scopes) > 0 {
		request["scope"] = strings.Join(l.grant.Scopes, " ")
	}
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, a.Register, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	status, body, err := client.do(r)
	if err != nil {
		return fmt.Errorf("register a client: %w", err)
	}
	var registered struct {
		ID     string `json:"client_id"`
		Secret string `json:"client_secret"`
		Method string `json:"token_endpoint_auth_method"`
		Error  string `json:"error"`
		Why    string `json:"error_description"`
	}
	decoded := json.Unmarshal(body, &registered)
	switch {
	case status != http.StatusCreated && status != http.StatusOK || registered.Error != "":
		return fmt.Errorf("register a client: %w; register one by hand and name it in mcpServers.%s.oauth.client_id",
			newRefusal(status, registered.Error, registered.Why), l.server.Name)
	case decoded != nil || registered.ID == "":
		return errors.New("register a client: the authorization server answered without a client id")
	}
	if registered.Method == authNone {
		registered.Secret = ""
	}
	l.grant.ClientID, l.grant.ClientSecret = registered.ID, registered.Secret
	l.grant.AuthMethod = authMethod(registered.Method, &Settings{ClientSecret: registered.Secret}, a.Auth)
	return nil
}

// applicationType returns the kind of client to register: an authorization server takes addresses on
// this machine from native clients only, and others from web clients only.
func applicationType(redirect string) string {
	if u, err := url.Parse(redirect); err == nil && !IsLoopback(u.Hostname()) {
		return "web"
	}
	return "native"
}

// registeredMethod returns the method to register for a program on a person's machine: no secret,
// unless the server requires one.
func registeredMethod(supported []string) string {
	for _, method := range []string{authNone, authBasic, authPost} {
		if slices.Contains(supported, method) {
			return method
		}
	}
	return authNone
}

// address returns the URL that the person opens.
func (l *Login) address(a authority) string {
	options := []oauth2.AuthCodeOption{
		oauth2.S256ChallengeOption(l.verifier), oauth2.SetAuthURLParam("resource", l.grant.Resource),
	}
	if slices.Contains(l.grant.Scopes, offline) {
		options = append(options, oauth2.SetAuthURLParam("prompt", "consent")) // without it OpenID servers give no refresh token
	}
	config := oauth2.Config{
		ClientID: l.grant.ClientID, RedirectURL: l.redirect, Scopes: l.grant.Scopes, Endpoint: oauth2.Endpoint{AuthURL: a.Authorize},
	}
	return config.AuthCodeURL(l.state, options...)
}

// Finish checks the query of the browser's redirect and exchanges its code. [ErrState] means that
// the query belongs to another login and this one is still open; any other result ends it.
func (l *Login) Finish(ctx context.Context, query url.Values) (Grant, error) {
	if subtle.ConstantTimeCompare([]byte(query.Get("state")), []byte(l.state)) != 1 {
		return Grant{}, ErrState
	}
	if l.used {
		return Grant{}, errors.New("the authorization code was used already: log in again")
	}
	l.used = true
	issuer := query.Get("iss")
	if issuer != "" && issuer != l.Issuer || issuer == "" && l.namesIssuer {
		return Grant{}, fmt.Errorf("the answer comes from %q, the login was at %s: nothing was sent, log in again", printable(issuer, 200), l.Issuer)
	}
	if code := query.Get("error"); code != "" {
		return Grant{}, newRefusal(0, code, query.Get("error_description"))
	}
	if query.Get("code") == "" {
		return Grant{}, errors.New("the answer holds no code: log in again")
	}
	form := url.Values{
		"grant_type": {"authorization_code"}, "code": {query.Get("code")}, "redirect_uri": {l.redirect},
		"code_verifier": {l.verifier}, "resource": {l.grant.Resource},
	}
	g, err := l.client.exchange(ctx, l.server, l.grant, form)
	if err != nil {
		return Grant{}, fmt.Errorf("exchange the code for a token: %w", err)
	}
	return g, nil
}
