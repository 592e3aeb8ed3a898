package oauth

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Grant is a login as it is kept. It holds secrets: nothing prints it.
type Grant struct {
	// URL is the server that the login is for, Issuer who gave it.
	URL    string `json:"url"`
	Issuer string `json:"issuer"`
	// Resource is how the authorization server calls the server.
	Resource string `json:"resource"`
	TokenURL string `json:"token_url"`
	// RevokeURL may be empty.
	RevokeURL string `json:"revoke_url,omitempty"`
	// Inside is how far in the authorization server may be.
	Inside   zone   `json:"inside,omitempty"`
	ClientID string `json:"client_id"`
	// ClientSecret is that of a client that registered itself; one of the config stays
	// there.
	ClientSecret string `json:"client_secret,omitempty"`
	// AuthMethod is how the client says who it is.
	AuthMethod string `json:"auth_method"`
	// Access and Refresh are empty once they have been refused for good.
	Access  string `json:"access_token,omitempty"`
	Refresh string `json:"refresh_token,omitempty"`
	// Scopes were granted, Wanted were missed later: the next login asks for both.
	Scopes []string `json:"scopes,omitempty"`
	Wanted []string `json:"wanted,omitempty"`
	// Expires is zero when nobody said.
	Issued  time.Time `json:"issued"`
	Expires time.Time `json:"expires,omitzero"`
}

// String hides everything.
func (g Grant) String() string { return "login at " + g.Issuer }

// GoString hides everything.
func (g Grant) GoString() string { return g.String() }

// Ways in which a client says who it is at the token endpoint.
const (
	authNone  = "none"
	authBasic = "client_secret_basic"
	authPost  = "client_secret_post"
)

// authMethod picks one: what the registration said, else what the server takes.
func authMethod(registered, secret string, supported []string) string {
	switch {
	case secret == "":
		return authNone
	case registered == authBasic || registered == authPost:
		return registered
	case len(supported) > 0 && !slices.Contains(supported, authBasic) && slices.Contains(supported, authPost):
		return authPost
	default:
		return authBasic
	}
}

// fits reports whether the login is for this server as it is configured now.
func (g *Grant) fits(s Server) bool {
	url, err := resource(s.URL)
	return err == nil && g.URL == url && (s.ClientID == "" || s.ClientID == g.ClientID)
}

// secret is the client's: that of the config, else the registered one.
func (g *Grant) secret(s Server) string {
	if s.ClientID == g.ClientID && s.ClientID != "" {
		return s.ClientSecret
	}
	return g.ClientSecret
}

// expired reports whether the access token should no longer be sent. early moves the
// end forward by a tenth of the token's life, at most 30 s.
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

// tokens are what a token endpoint answers.
type tokens struct {
	Access    string          `json:"access_token"`
	Kind      string          `json:"token_type"`
	Refresh   string          `json:"refresh_token"`
	Scope     string          `json:"scope"`
	ExpiresIn json.RawMessage `json:"expires_in"`
	Error     string          `json:"error"`
	Why       string          `json:"error_description"`
}

// renew exchanges the refresh token for new tokens. A *[RefusalError] that is final means
// that a person must log in again. The old refresh token stays when no new one comes.
func (c *Client) renew(ctx context.Context, s Server, g Grant) (Grant, error) {
	if g.Refresh == "" {
		return g, errors.New("there is no refresh token")
	}
	form := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {g.Refresh}, "resource": {g.Resource}}
	return c.exchange(ctx, s, g, form)
}

// exchange asks the token endpoint and returns the grant with what it gave.
func (c *Client) exchange(ctx context.Context, s Server, g Grant, form url.Values) (Grant, error) {
	status, body, err := c.post(ctx, s, g, g.TokenURL, form)
	if err != nil {
		return g, err
	}
	var t tokens
	decoded := json.Unmarshal(body, &t)
	secrets := []string{form.Get("code"), form.Get("code_verifier"), form.Get("refresh_token"), g.secret(s), g.Access}
	switch {
	case t.Error != "", status < 200 || status > 299:
		return g, newRefusal(status, t.Error, t.Why, secrets...)
	case decoded != nil || t.Access == "":
		return g, errors.New("the authorization server answered without a token")
	case t.Kind != "" && !strings.EqualFold(t.Kind, "bearer"):
		return g, fmt.Errorf("the authorization server gave a token of the kind %q, which is not bearer", printable(t.Kind, 40))
	case printable(t.Access, len(t.Access)) != t.Access || strings.Contains(t.Access, " "):
		return g, errors.New("the authorization server gave a token that cannot be sent")
	}
	g.Access, g.Refresh = t.Access, cmp.Or(t.Refresh, g.Refresh)
	g.Issued, g.Expires = c.now().UTC(), time.Time{}
	if life := lifeOf(t.ExpiresIn); life > 0 {
		g.Expires = g.Issued.Add(life)
	}
	if t.Scope != "" {
		g.Scopes = scopesOf(t.Scope)
	}
	return g, nil
}

// lifeOf reads expires_in, which some servers write as a string.
func lifeOf(raw json.RawMessage) time.Duration {
	seconds, err := strconv.ParseFloat(strings.Trim(string(raw), `"`), 64)
	const most = 10 * 365 * 24 * time.Hour
	if err != nil || math.IsNaN(seconds) || seconds <= 0 {
		return 0
	}
	return time.Duration(min(seconds, most.Seconds()) * float64(time.Second))
}

// post sends a form as the client of the grant.
func (c *Client) post(ctx context.Context, s Server, g Grant, address string, form url.Values) (int, []byte, error) {
	if err := checkAddress(address, g.Inside); err != nil {
		return 0, nil, err
	}
	secret := g.secret(s)
	if g.AuthMethod != authBasic {
		form.Set("client_id", g.ClientID)
		if g.AuthMethod == authPost {
			form.Set("client_secret", secret)
		}
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(form.Encode()))
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if g.AuthMethod == authBasic {
		r.SetBasicAuth(url.QueryEscape(g.ClientID), url.QueryEscape(secret))
	}
	status, body, err := c.caller(g.Inside).do(r)
	return status, body, err
}

// Revoke tells the authorization server that the tokens are of no more use, if it
// wants to know (RFC 7009).
func (c *Client) Revoke(ctx context.Context, s Server, g Grant) error {
	token, kind := cmp.Or(g.Refresh, g.Access), "refresh_token"
	if g.Refresh == "" {
		kind = "access_token"
	}
	if g.RevokeURL == "" || token == "" {
		return nil
	}
	status, _, err := c.post(ctx, s, g, g.RevokeURL, url.Values{"token": {token}, "token_type_hint": {kind}})
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("the authorization server answered HTTP %d", status)
	}
	return err
}
