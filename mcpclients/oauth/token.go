package oauth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
)

// A Grant is a stored login. It holds secrets, so its String shows none.
type Grant struct {
	// URL is the server of the login, Issuer its authorization server.
	URL    string `json:"url"`
	Issuer string `json:"issuer"`
	// Resource identifies the server at the authorization server.
	Resource string `json:"resource"`
	TokenURL string `json:"token_url"`
	// RevokeURL may be empty.
	RevokeURL string `json:"revoke_url,omitempty"`
	// Inside is the innermost zone that the authorization server may be in.
	Inside   zone   `json:"inside,omitempty"`
	ClientID string `json:"client_id"`
	// ClientSecret is the secret of a self-registered client; a configured one is not stored.
	ClientSecret string `json:"client_secret,omitempty"`
	// AuthMethod is how the client authenticates.
	AuthMethod string `json:"auth_method"`
	// Access and Refresh are empty after a final refusal.
	Access  string `json:"access_token,omitempty"`
	Refresh string `json:"refresh_token,omitempty"`
	// Scopes were granted, Wanted were lacking later: the next login requests both.
	Scopes []string `json:"scopes,omitempty"`
	Wanted []string `json:"wanted,omitempty"`
	// Expires is zero if unknown.
	Issued  time.Time `json:"issued"`
	Expires time.Time `json:"expires,omitzero"`
}

// String hides the secrets.
func (g Grant) String() string { return "login at " + g.Issuer }

// GoString hides the secrets.
func (g Grant) GoString() string { return g.String() }

// The client authentication methods of the token endpoint.
const (
	authNone  = "none"
	authBasic = "client_secret_basic"
	authPost  = "client_secret_post"
	authKey   = "private_key_jwt"
)

// authMethod picks a method: the registered one, else one that the server supports.
func authMethod(registered string, client *Settings, supported []string) string {
	switch {
	case client.PrivateKey != "":
		return authKey
	case client.ClientSecret == "":
		return authNone
	case registered == authBasic || registered == authPost:
		return registered
	case len(supported) > 0 && !slices.Contains(supported, authBasic) && slices.Contains(supported, authPost):
		return authPost
	default:
		return authBasic
	}
}

// fits reports whether the login is for the server as configured now.
func (g *Grant) fits(s Server) bool {
	url, err := resource(s.URL)
	return err == nil && g.URL == url && (s.ClientID == "" || s.ClientID == g.ClientID)
}

// secret returns the client's secret: the configured one, else the registered one.
func (g *Grant) secret(s Server) string {
	if s.ClientID == g.ClientID && s.ClientID != "" {
		return s.ClientSecret
	}
	return g.ClientSecret
}

// expired reports whether the access token should no longer be sent. early moves the expiry
// forward by a tenth of the token's life, at most 30 s.
func (g *Grant) expired(now time.Time, early bool) bool {
	if g.Expires.IsZero() {
		return false
	}
	end := g.Expires
	if early {
		end = end.Add(-min(30*time.Second, g.Expires.Sub(g.Issued)/10))
	}
	return !now.Before(end)
}

// renew exchanges the refresh token for new tokens. A *[refusalError] that is final means that a
// person must log in again. The old refresh token stays if there is no new one.
func (c *Client) renew(ctx context.Context, s Server, g Grant) (Grant, error) {
	if g.Refresh == "" {
		return g, errors.New("there is no refresh token")
	}
	form := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {g.Refresh}, "resource": {g.Resource}}
	return c.exchange(ctx, s, g, form)
}

// exchange calls the token endpoint and returns the grant with the new tokens.
func (c *Client) exchange(ctx context.Context, s Server, g Grant, form url.Values) (Grant, error) {
	token, err := c.requestToken(ctx, s, g, form)
	switch {
	case err != nil:
		return g, err
	case token.TokenType != "" && !strings.EqualFold(token.TokenType, "bearer"):
		return g, fmt.Errorf("the authorization server gave a token of the kind %q, which is not bearer", printable(token.TokenType, 40))
	case printable(token.AccessToken, len(token.AccessToken)) != token.AccessToken || strings.Contains(token.AccessToken, " "):
		return g, errors.New("the authorization server gave a token that cannot be sent")
	}
	g.Access, g.Refresh = token.AccessToken, cmp.Or(token.RefreshToken, g.Refresh)
	g.Issued, g.Expires = c.now().UTC(), time.Time{}
	if life := time.Until(token.Expiry).Round(time.Second); life > 0 { // it was set by the system's clock
		g.Expires = g.Issued.Add(life)
	}
	if scope, _ := token.Extra("scope").(string); scope != "" {
		g.Scopes = scopesOf(scope)
	}
	return g, nil
}

// requestToken sends a grant form to the token endpoint, as the client of g. [clientcredentials.Config]
// sends any grant in the form with its parameters: the renewal of [oauth2.Config] could not send
// the resource.
func (c *Client) requestToken(ctx context.Context, s Server, g Grant, form url.Values) (*oauth2.Token, error) {
	at, err := url.Parse(g.TokenURL)
	if err == nil {
		err = checkAddress(g.TokenURL, g.Inside)
	}
	if err != nil {
		return nil, err
	}
	config := clientcredentials.Config{ClientID: g.ClientID, TokenURL: g.TokenURL, EndpointParams: form, AuthStyle: oauth2.AuthStyleInParams}
	switch g.AuthMethod {
	case authBasic:
		config.ClientSecret, config.AuthStyle = g.secret(s), oauth2.AuthStyleInHeader
	case authPost:
		config.ClientSecret = g.secret(s)
	case authKey:
		signed, err := assertion(s.PrivateKey, g.ClientID, g.Issuer, c.now())
		if err != nil {
			return nil, fmt.Errorf("mcpServers.%s.oauth.private_key: %w", s.Name, err)
		}
		form.Set("client_assertion", signed)
		form.Set("client_assertion_type", assertionKind)
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	token, err := config.Token(context.WithValue(ctx, oauth2.HTTPClient, c.restrictedClient(g.Inside).client()))
	if err == nil {
		return token, nil
	}
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		secrets := []string{g.secret(s), g.Access}
		for _, name := range []string{"code", "code_verifier", "refresh_token", "assertion", "subject_token", "client_assertion"} {
			secrets = append(secrets, form.Get(name))
		}
		return nil, newRefusal(refused.Response.StatusCode, refused.ErrorCode, refused.ErrorDescription, secrets...)
	}
	if outer, ok := errors.AsType[*url.Error](err); ok {
		return nil, fmt.Errorf("ask %s: %w", at.Host, outer.Err) // the rest is the address with its query
	}
	return nil, errors.New("the authorization server answered without a token") // the library's error may quote the answer
}

// Revoke revokes the tokens if the authorization server supports it (RFC 7009).
func (c *Client) Revoke(ctx context.Context, s Server, g Grant) error {
	token, kind := cmp.Or(g.Refresh, g.Access), "refresh_token"
	if g.Refresh == "" {
		kind = "access_token"
	}
	if g.RevokeURL == "" || token == "" {
		return nil
	}
	if err := checkAddress(g.RevokeURL, g.Inside); err != nil {
		return err
	}
	form := url.Values{"token": {token}, "token_type_hint": {kind}, "client_id": {g.ClientID}}
	if g.AuthMethod == authPost {
		form.Set("client_secret", g.secret(s))
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, g.RevokeURL, strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if g.AuthMethod == authBasic {
		r.SetBasicAuth(url.QueryEscape(g.ClientID), url.QueryEscape(g.secret(s)))
	}
	status, _, err := c.restrictedClient(g.Inside).do(r)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("the authorization server answered HTTP %d", status)
	}
	return err
}
