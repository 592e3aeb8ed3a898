package config

import (
	"net/url"
	"slices"
	"time"

	"molar/schemas"
)

// OIDC configures an identity provider at which people sign in with OpenID Connect.
type OIDC struct {
	Issuer       string         `yaml:"issuer" jsonschema_description:"Address of the identity provider, exactly as it names itself, such as https://id.example.com/realms/team."`
	ClientID     string         `yaml:"client_id" jsonschema_description:"Name under which this host is registered at the identity provider; the address of its callback there ends in /login/callback."`
	ClientSecret schemas.Secret `yaml:"client_secret" jsonschema_description:"Secret of that registration as a reference to the environment, such as ${OIDC_SECRET}; left out for a public client."`
	// Scopes, Groups, Name, Label and Session have values after loading.
	Scopes []string `yaml:"scopes" jsonschema_description:"Scopes that the host asks the identity provider for (default openid, profile, email)."`
	Groups string   `yaml:"groups" jsonschema_description:"Claim with the names of the person's groups (default groups)."`
	Name   string   `yaml:"name" jsonschema_description:"Claim with the person's name, for showing only (default name)."`
	Label  string   `yaml:"label" jsonschema_description:"How people call the identity provider, on the page for signing in (default its host name)."`
	// Audience may be empty.
	Audience string        `yaml:"audience" jsonschema_description:"Audience of the access tokens that programs may send as Authorization: Bearer, beside client_id."`
	Session  time.Duration `yaml:"session" jsonschema_description:"Longest time that somebody stays signed in; unused for 12h it ends earlier (default 12h)."`
}

// On reports whether people can sign in at an identity provider.
func (o OIDC) On() bool { return o.Issuer != "" }

// complete sets the defaults.
func (o *OIDC) complete() {
	if !o.On() {
		return
	}
	if len(o.Scopes) == 0 {
		o.Scopes = []string{"openid", "profile", "email"}
	}
	if o.Groups == "" {
		o.Groups = "groups"
	}
	if o.Name == "" {
		o.Name = "name"
	}
	if u, err := url.Parse(o.Issuer); err == nil && o.Label == "" {
		o.Label = u.Hostname()
	}
	if o.Session == 0 {
		const day = 12 * time.Hour
		o.Session = day
	}
}

// oidc checks the identity provider.
func (c *checker) oidc() {
	o := c.cfg.Identity.OIDC
	if !o.On() {
		if o.ClientID != "" || o.ClientSecret != "" || o.Audience != "" {
			c.fault("identity.oidc.issuer", "want the address of the identity provider, as it names itself")
		}
		return
	}
	c.encrypted("identity.oidc.issuer", o.Issuer)
	c.required("identity.oidc.client_id", o.ClientID)
	if !slices.Contains(o.Scopes, "openid") {
		c.fault("identity.oidc.scopes", "must contain openid")
	}
	c.uniqueList("identity.oidc.scopes", o.Scopes)
	if o.Session < time.Minute {
		c.fault("identity.oidc.session", "want at least 1m")
	}
}
