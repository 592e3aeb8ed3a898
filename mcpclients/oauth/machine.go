package oauth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
)

// GrantClient is the [Settings.Grant] of a client that logs in as itself, without a person.
const GrantClient = "client_credentials"

// Grant and token types for exchanging a person's identity for a token (RFC 8693, RFC 7523).
const (
	grantExchange = "urn:ietf:params:oauth:grant-type:token-exchange"
	grantBearer   = "urn:ietf:params:oauth:grant-type:jwt-bearer" //nolint:gosec // the name of a way, no credentials
	kindIdentity  = "urn:ietf:params:oauth:token-type:id_token"
	kindAssertion = "urn:ietf:params:oauth:token-type:id-jag"
)

// Alone reports whether the host logs in without a person.
func (s *Settings) Alone() bool { return s.Grant == GrantClient || s.Identity.Issuer != "" }

// obtain logs in at a server without a person: as the client itself, or with the identity
// provider's assertion about the person. lacking are scopes that were missing before.
func (c *Client) obtain(ctx context.Context, s Server, lacking []string) (Grant, error) {
	found, err := c.discover(ctx, s)
	if err != nil {
		return Grant{}, err
	}
	if s.ClientID == "" {
		return Grant{}, fmt.Errorf("a login without a person needs mcpServers.%s.oauth.client_id", s.Name)
	}
	g := found.grant()
	g.ClientID, g.AuthMethod = s.ClientID, authMethod("", &s.Settings, found.authority.Auth)
	g.Scopes = scopesFor(s, found.challenge, found.metadata, nil)
	form := url.Values{"grant_type": {GrantClient}, "resource": {g.Resource}}
	if s.Identity.Issuer != "" {
		if form, err = c.assert(ctx, s, g); err != nil {
			return Grant{}, err
		}
	}
	if scopes := unique(append(g.Scopes, lacking...)); len(scopes) > 0 {
		form.Set("scope", strings.Join(scopes, " "))
	}
	return c.exchange(ctx, s, g, form)
}

// assert gets the identity provider's assertion about the person for the authorization server of
// g, and returns the form that presents it.
func (c *Client) assert(ctx context.Context, s Server, g Grant) (url.Values, error) {
	id := s.Identity
	subject := id.Token
	if id.TokenFile != "" { // the file is rewritten when the token is renewed
		text, err := os.ReadFile(id.TokenFile)
		if err != nil {
			return nil, fmt.Errorf("read mcpServers.%s.oauth.identity.token_file: %w", s.Name, err)
		}
		subject = strings.TrimSpace(string(text))
	}
	if subject == "" {
		return nil, fmt.Errorf("mcpServers.%s.oauth.identity has no token", s.Name)
	}
	// The operator configured the provider, so it may be anywhere.
	a, err := c.restrictedClient(loopback).authority(ctx, id.Issuer, requirements{})
	if err != nil {
		return nil, err
	}
	provider := Grant{
		Issuer: a.Issuer, TokenURL: a.Token, Inside: loopback, ClientID: cmp.Or(id.ClientID, s.ClientID),
		AuthMethod: authMethod("", &Settings{ClientSecret: id.ClientSecret}, a.Auth),
	}
	form := url.Values{
		"grant_type": {grantExchange}, "subject_token": {subject}, "subject_token_type": {kindIdentity},
		"requested_token_type": {kindAssertion}, "audience": {g.Issuer}, "resource": {g.Resource},
	}
	if len(g.Scopes) > 0 {
		form.Set("scope", strings.Join(g.Scopes, " "))
	}
	as := Server{Name: s.Name, Settings: Settings{ClientID: provider.ClientID, ClientSecret: id.ClientSecret}}
	token, err := c.requestToken(ctx, as, provider, form)
	if err != nil {
		return nil, fmt.Errorf("ask the identity provider %s: %w", printable(a.Issuer, 200), err)
	}
	if kind, _ := token.Extra("issued_token_type").(string); kind != kindAssertion {
		return nil, errors.New("the identity provider did not give an assertion for the authorization server (id-jag)")
	}
	return url.Values{"grant_type": {grantBearer}, "assertion": {token.AccessToken}, "resource": {g.Resource}}, nil
}
