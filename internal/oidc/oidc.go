// Package oidc signs people in at an identity provider with OpenID Connect: the code flow with PKCE,
// state and nonce for browsers, and the provider's tokens for programs.
//
// It does not depend on sessions, groups or routes: it says who somebody is, as the provider says it.
package oidc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"molar/internal/sealed"
)

// Times of a provider.
const (
	// callLimit is the time limit of one call of the provider.
	callLimit = 10 * time.Second
	// checkEvery is how often a provider that answers is asked again.
	checkEvery = 30 * time.Second
	// freshFor is how long its last answer lets people be sent to it; after that it is asked before, so
	// that nobody is sent to a provider that is away.
	freshFor = 2 * time.Second
	// firstRetry and lastRetry are the waits before a provider that does not answer is asked again.
	firstRetry, lastRetry = time.Second, 30 * time.Second
)

// ErrAway means that the identity provider does not answer.
var ErrAway = errors.New("the identity provider does not answer")

// A Config configures a provider.
type Config struct {
	// Issuer is the address of the provider, exactly as it names itself.
	Issuer       string
	ClientID     string
	ClientSecret string
	Scopes       []string
	// Groups and Name are the claims with the groups and the name of a person.
	Groups, Name string
	// Audience is an audience of access tokens that is accepted beside ClientID; it may be empty.
	Audience string
	// Key seals what a browser keeps while its person signs in; all replicas have the same 32 bytes.
	Key []byte
	// Client calls the provider; nil means the default one.
	Client *http.Client
	Logger *slog.Logger
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// A Person is somebody as the provider names them.
type Person struct {
	Issuer, Subject string
	// Name and Email are for people to read.
	Name, Email string
	Groups      []string
	// At is when the provider said it, and Until how long its word holds.
	At, Until time.Time
}

// Owner returns the person's id, which never changes and is nobody else's.
func (p Person) Owner() string { return "oidc:" + p.Issuer + "#" + p.Subject }

// A Provider signs people in.
type Provider struct {
	cfg   Config
	box   *sealed.Box
	cache cache

	mu sync.Mutex
	// known is nil until the provider has answered for the first time.
	known *known
	// fault is why it does not answer now; nil if it does.
	fault error
	// answered is when it answered last.
	answered time.Time
}

// known is what a provider says about itself.
type known struct {
	provider *oidc.Provider
	verifier *oidc.IDTokenVerifier
	// namesIssuer means that its answers always name it.
	namesIssuer bool
}

// New returns a provider, which it does not call yet.
func New(cfg Config) (*Provider, error) {
	if cfg.Issuer == "" || cfg.ClientID == "" {
		return nil, errors.New("an identity provider needs an issuer and a client id")
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Client == nil {
		cfg.Client = http.DefaultClient
	}
	limited := *cfg.Client
	limited.Timeout = callLimit
	cfg.Client = &limited
	box, err := sealed.Of(cfg.Key)
	if err != nil {
		return nil, fmt.Errorf("seal attempts to sign in: %w", err)
	}
	return &Provider{cfg: cfg, box: box, cache: cache{now: cfg.Now}}, nil
}

// Watch keeps what is known of the provider current until ctx ends.
func (p *Provider) Watch(ctx context.Context) {
	wait := firstRetry
	for {
		next := checkEvery
		if _, err := p.discover(ctx); err != nil {
			next, wait = wait, min(2*wait, lastRetry)
		} else {
			wait = firstRetry
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(next):
		}
	}
}

// Fault returns why the provider does not answer; nil if it does.
func (p *Provider) Fault() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fault
}

// discover asks the provider about itself.
func (p *Provider) discover(ctx context.Context) (*known, error) {
	found, err := oidc.NewProvider(oidc.ClientContext(ctx, p.cfg.Client), p.cfg.Issuer)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		err = fmt.Errorf("%w: %s: %w", ErrAway, p.cfg.Issuer, err)
		if p.fault == nil {
			p.cfg.Logger.Warn("the identity provider does not answer; people who are signed in stay so, and nobody else can sign in", "error", err)
		}
		p.fault = err
		return nil, err
	}
	if p.fault != nil {
		p.cfg.Logger.Info("the identity provider answers again", "issuer", p.cfg.Issuer)
	}
	p.fault, p.answered = nil, p.cfg.Now()
	var says struct {
		NamesIssuer bool `json:"authorization_response_iss_parameter_supported"`
	}
	if err := found.Claims(&says); err != nil {
		return nil, fmt.Errorf("read what %s says about itself: %w", p.cfg.Issuer, err)
	}
	if p.known == nil || p.known.provider.Endpoint() != found.Endpoint() || p.known.namesIssuer != says.NamesIssuer {
		// The audience is checked with the claims: access tokens may name another one.
		p.known = &known{found, found.Verifier(&oidc.Config{SkipClientIDCheck: true, Now: p.cfg.Now}), says.NamesIssuer}
	}
	return p.known, nil
}

// get returns what is known of the provider, and asks it if that is nothing.
func (p *Provider) get(ctx context.Context) (*known, error) {
	p.mu.Lock()
	k := p.known
	p.mu.Unlock()
	if k != nil {
		return k, nil
	}
	return p.discover(ctx)
}

// fresh is get, but asks a provider again that has not answered lately.
func (p *Provider) fresh(ctx context.Context) (*known, error) {
	p.mu.Lock()
	k, fresh := p.known, p.fault == nil && p.cfg.Now().Sub(p.answered) < freshFor
	p.mu.Unlock()
	if k != nil && fresh {
		return k, nil
	}
	return p.discover(ctx)
}

// Begin returns the address at which somebody signs in, and what their browser keeps meanwhile. The
// provider sends them back to the address redirect, and to is where they go then.
func (p *Provider) Begin(ctx context.Context, redirect, to string) (address, kept string, err error) {
	k, err := p.fresh(ctx)
	if err != nil {
		return "", "", err
	}
	a := newAttempt(redirect, to, p.cfg.Now())
	text, err := json.Marshal(a)
	address = p.oauth(k, redirect).AuthCodeURL(a.State, oidc.Nonce(a.Nonce), oauth2.S256ChallengeOption(a.Verifier))
	return address, p.box.Seal(text, attemptPlace), err
}

func (p *Provider) oauth(k *known, redirect string) *oauth2.Config {
	return &oauth2.Config{
		ClientID: p.cfg.ClientID, ClientSecret: p.cfg.ClientSecret, Endpoint: k.provider.Endpoint(), RedirectURL: redirect, Scopes: p.cfg.Scopes,
	}
}

// Finish returns who came back from the provider with an answer, to a browser that kept what Begin
// returned, and where they go. An answer to another attempt, an old one or one from another provider is
// refused.
func (p *Provider) Finish(ctx context.Context, kept string, answer url.Values) (who Person, to string, err error) {
	var a attempt
	if text, err := p.box.Open(kept, attemptPlace); err != nil || json.Unmarshal(text, &a) != nil {
		return who, "", fmt.Errorf("%w: this browser has not begun to sign in, or keeps no cookies", ErrRefused)
	}
	if p.cfg.Now().After(a.Until) {
		return who, a.To, fmt.Errorf("%w: signing in took longer than %s", ErrRefused, attemptLife)
	}
	if !same(answer.Get("state"), a.State) {
		return who, a.To, fmt.Errorf("%w: the answer is to another attempt", ErrRefused)
	}
	k, err := p.get(ctx)
	if err != nil {
		return who, a.To, err
	}
	switch issuer := answer.Get("iss"); {
	case issuer != "" && issuer != p.cfg.Issuer, issuer == "" && k.namesIssuer:
		return who, a.To, fmt.Errorf("%w: the answer is from another provider", ErrRefused)
	case answer.Get("error") != "":
		return who, a.To, fmt.Errorf("%w: the identity provider answered %.100q", ErrRefused, answer.Get("error"))
	case answer.Get("code") == "":
		return who, a.To, fmt.Errorf("%w: the answer holds no code", ErrRefused)
	}
	tokens, err := p.exchange(ctx, k, a, answer.Get("code"))
	if err != nil {
		return who, a.To, err
	}
	who, err = p.signedIn(ctx, k, a, tokens)
	return who, a.To, err
}

// exchange exchanges the code for tokens.
func (p *Provider) exchange(ctx context.Context, k *known, a attempt, code string) (*oauth2.Token, error) {
	tokens, err := p.oauth(k, a.Redirect).Exchange(oidc.ClientContext(ctx, p.cfg.Client), code, oauth2.VerifierOption(a.Verifier))
	if err == nil {
		return tokens, nil
	}
	if refusal, ok := errors.AsType[*oauth2.RetrieveError](err); ok && refusal.Response.StatusCode < http.StatusInternalServerError {
		return nil, fmt.Errorf("%w: the identity provider refused the code: %.100q", ErrRefused, refusal.ErrorCode)
	}
	return nil, fmt.Errorf("%w: exchange the code: %w", ErrAway, err)
}

// signedIn reads who the ID token names.
func (p *Provider) signedIn(ctx context.Context, k *known, a attempt, tokens *oauth2.Token) (who Person, err error) {
	raw, ok := tokens.Extra("id_token").(string)
	if !ok {
		return who, fmt.Errorf("%w: the identity provider sent no ID token; identity.oidc.scopes must contain openid", ErrRefused)
	}
	token, err := k.verifier.Verify(oidc.ClientContext(ctx, p.cfg.Client), raw)
	switch {
	case err != nil:
		return who, fmt.Errorf("%w: the ID token is not valid: %w", ErrRefused, err)
	case !slices.Contains(token.Audience, p.cfg.ClientID):
		return who, fmt.Errorf("%w: the ID token is for another client", ErrRefused)
	case !same(token.Nonce, a.Nonce):
		return who, fmt.Errorf("%w: the ID token is of another attempt", ErrRefused)
	}
	claims := claims{}
	if err := token.Claims(&claims); err != nil {
		return who, fmt.Errorf("%w: the ID token cannot be read: %w", ErrRefused, err)
	}
	if by, ok := claims["azp"].(string); ok && by != p.cfg.ClientID {
		return who, fmt.Errorf("%w: the ID token is for another client", ErrRefused)
	}
	if !claims.have(p.cfg.Groups, p.cfg.Name) && k.provider.UserInfoEndpoint() != "" {
		p.addUserInfo(ctx, k, token.Subject, tokens, claims)
	}
	return p.person(token, claims)
}

// addUserInfo adds what the provider says of the person elsewhere only. Without it the person has the
// claims of the ID token.
func (p *Provider) addUserInfo(ctx context.Context, k *known, subject string, tokens *oauth2.Token, into claims) {
	ctx = oidc.ClientContext(ctx, p.cfg.Client)
	more := claims{}
	info, err := k.provider.UserInfo(ctx, oauth2.StaticTokenSource(tokens))
	if err == nil && info.Subject != subject {
		err = errors.New("it is about somebody else")
	}
	if err == nil {
		err = info.Claims(&more)
	}
	if err != nil {
		p.cfg.Logger.Warn("the identity provider does not say more of a person than the ID token", "error", err)
		return
	}
	for _, claim := range []string{p.cfg.Groups, p.cfg.Name, "preferred_username", "email", "_claim_names"} {
		if _, ok := into[claim]; !ok && more[claim] != nil {
			into[claim] = more[claim]
		}
	}
}
