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

// ErrState means that an answer belongs to another login, or to none.
var ErrState = errors.New("the answer is not of this login: its state is another")

// A Login waits for the person to come back from the authorization server.
type Login struct {
	// URL is what the person opens in a browser.
	URL string
	// Issuer is who asks them.
	Issuer string

	client          *Client
	server          Server
	grant           Grant
	namesIssuer     bool
	redirect        string
	state, verifier string
	used            bool
}

// Begin finds out what the server wants, registers a client if need be, and returns
// the login for a person to go through. redirect is where the browser comes back to;
// before is the last login at this server, whose scopes are asked for again, or nil.
// [ErrNoLogin] means that the server lets everybody in.
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
	l.grant.Scopes = scopesFor(s, found.challenge, found.described, before)
	if err := l.identify(ctx, found.ask, a); err != nil {
		return nil, err
	}
	l.URL = l.address(a)
	return l, nil
}

// A discovery is what was found out about a server and who gives tokens for it.
type discovery struct {
	ask       *caller
	here      string // the server's own address
	resource  string // how the authorization server calls it
	inside    zone
	challenge Challenge
	described described
	authority authority
}

// discover asks the server who gives tokens for it, and that one how.
func (c *Client) discover(ctx context.Context, s Server) (discovery, error) {
	here, err := resource(s.URL)
	if err != nil {
		return discovery{}, err
	}
	p, err := c.probe(ctx, s)
	if err != nil {
		return discovery{}, err
	}
	f := discovery{ask: c.caller(p.inside), here: here, resource: here, inside: p.inside, challenge: p.Challenge}
	d, found, err := f.ask.describe(ctx, s, p.Challenge)
	if err != nil {
		return discovery{}, err
	}
	if !found && !p.refused {
		return discovery{}, fmt.Errorf("%w: it answered HTTP %d to somebody without a token", ErrNoLogin, p.status)
	}
	issuer := originOf(here)
	if found {
		f.described, issuer, f.resource = d, d.Servers[0], cmp.Or(d.Resource, here)
	}
	f.authority, err = f.ask.authority(ctx, issuer, authorityOf{guess: !found, person: !s.Alone()})
	return f, err
}

// grant is the login that is still to be given.
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

// scopesFor are the scopes to ask for: the operator's, else those that the refusal
// names, else all that the server knows; and what an earlier login turned out to lack.
func scopesFor(s Server, challenge Challenge, d described, before *Grant) []string {
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

// unique drops what came before, and keeps the order.
func unique(list []string) []string {
	var kept []string
	for _, one := range list {
		if !slices.Contains(kept, one) {
			kept = append(kept, one)
		}
	}
	return kept
}

// identify takes the client of the config, else registers one (RFC 7591).
func (l *Login) identify(ctx context.Context, ask *caller, a authority) error {
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
	return l.register(ctx, ask, a)
}

// offline is the scope that some servers give refresh tokens for.
const offline = "offline_access"

func (l *Login) register(ctx context.Context, ask *caller, a authority) error {
	wanted := map[string]any{
		"client_name": "Molar", "application_type": "native", "redirect_uris": []string{l.redirect},
		"grant_types": []string{"authorization_code", "refresh_token"}, "response_types": []string{"code"},
		"token_endpoint_auth_method": registeredMethod(a.Auth),
	}
	if len(l.grant.Scopes) > 0 {
		wanted["scope"] = strings.Join(l.grant.Scopes, " ")
	}
	body, err := json.Marshal(wanted)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, a.Register, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	status, body, err := ask.do(r)
	if err != nil {
		return fmt.Errorf("register a client: %w", err)
	}
	var made struct {
		ID     string `json:"client_id"`
		Secret string `json:"client_secret"`
		Method string `json:"token_endpoint_auth_method"`
		Error  string `json:"error"`
		Why    string `json:"error_description"`
	}
	decoded := json.Unmarshal(body, &made)
	switch {
	case status != http.StatusCreated && status != http.StatusOK || made.Error != "":
		return fmt.Errorf("register a client: %w; register one by hand and name it in mcpServers.%s.oauth.client_id",
			newRefusal(status, made.Error, made.Why), l.server.Name)
	case decoded != nil || made.ID == "":
		return errors.New("register a client: the authorization server answered without a client id")
	}
	if made.Method == authNone {
		made.Secret = ""
	}
	l.grant.ClientID, l.grant.ClientSecret = made.ID, made.Secret
	l.grant.AuthMethod = authMethod(made.Method, &Settings{ClientSecret: made.Secret}, a.Auth)
	return nil
}

// registeredMethod is what a program on a person's machine asks for: no secret,
// unless the server insists.
func registeredMethod(supported []string) string {
	for _, method := range []string{authNone, authBasic, authPost} {
		if slices.Contains(supported, method) {
			return method
		}
	}
	return authNone
}

// address is what the person opens.
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

// Finish takes the query that the browser came back with and exchanges its code.
// [ErrState] means that the query is of somebody else, and the login still open; after
// anything else it is over.
func (l *Login) Finish(ctx context.Context, query url.Values) (Grant, error) {
	if subtle.ConstantTimeCompare([]byte(query.Get("state")), []byte(l.state)) != 1 {
		return Grant{}, ErrState
	}
	if l.used {
		return Grant{}, errors.New("the answer was used already: log in again")
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
