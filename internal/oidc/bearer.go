package oidc

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
)

// IsToken reports whether a text has the form of a signed token.
func IsToken(text string) bool {
	return strings.Count(text, ".") == 2 && strings.HasPrefix(text, "eyJ")
}

// Bearer returns whom a token of the provider names: an ID token, or an access token in that form, for
// this client or the audience. It verifies a token at most once a minute.
func (p *Provider) Bearer(ctx context.Context, text string) (who Person, fresh bool, err error) {
	hash := sha256.Sum256([]byte(text))
	if who, ok := p.cache.get(hash); ok {
		return who, false, nil
	}
	k, err := p.get(ctx)
	if err != nil {
		return who, false, err
	}
	token, err := k.verifier.Verify(oidc.ClientContext(ctx, p.cfg.Client), text)
	if err != nil {
		return who, false, fmt.Errorf("%w: the token is not valid: %w", ErrRefused, err)
	}
	if !slices.Contains(token.Audience, p.cfg.ClientID) && (p.cfg.Audience == "" || !slices.Contains(token.Audience, p.cfg.Audience)) {
		return who, false, fmt.Errorf("%w: the token is for others; its audience must be identity.oidc.client_id or identity.oidc.audience", ErrRefused)
	}
	claims := claims{}
	if err := token.Claims(&claims); err != nil {
		return who, false, fmt.Errorf("%w: the token cannot be read: %w", ErrRefused, err)
	}
	if claims.have("events") {
		return who, false, fmt.Errorf("%w: the token tells of an event, and signs nobody in", ErrRefused)
	}
	if who, err = p.person(token, claims); err != nil {
		return who, false, err
	}
	until := p.cfg.Now().Add(cacheLife)
	if who.Until.Before(until) {
		until = who.Until
	}
	p.cache.put(hash, who, until)
	return who, true, nil
}

// Limits of the cache of tokens.
const (
	cacheLife = time.Minute
	cacheSize = 10_000
)

// A cache holds whom tokens named that were verified a short while ago.
type cache struct {
	now func() time.Time
	mu  sync.Mutex
	all map[[sha256.Size]byte]verified
}

type verified struct {
	who   Person
	until time.Time
}

func (c *cache) get(hash [sha256.Size]byte) (Person, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, ok := c.all[hash]
	return v.who, ok && c.now().Before(v.until)
}

func (c *cache) put(hash [sha256.Size]byte, who Person, until time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all == nil || len(c.all) >= cacheSize {
		c.all = map[[sha256.Size]byte]verified{}
	}
	c.all[hash] = verified{who, until}
}
