package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"molar/internal/config"
	"molar/internal/httpguard"
	"molar/internal/store"
)

// Times of keys and sessions.
const (
	// keyRefresh is how often the stored keys are read anew: how long a revoked key still
	// works at most.
	keyRefresh = time.Second
	// keyUseEvery is how many refreshes pass between two notes of when keys were used.
	keyUseEvery = 10
	// sessionIdle is how long a browser stays signed in without being used.
	sessionIdle = 12 * time.Hour
	// signInLife is how long the printed link works.
	signInLife = 10 * time.Minute
)

// operatorOwner owns the conversations of all browsers that signed in by a printed link.
const operatorOwner = "operator"

// A apiKeyStore keeps keys and sessions.
type apiKeyStore interface {
	AddKey(ctx context.Context, k store.APIKey) error
	Keys(ctx context.Context) ([]store.APIKey, error)
	TouchKeys(ctx context.Context, used map[string]time.Time) error
	DropSessions(ctx context.Context, unusedSince time.Time) error
}

// access keeps the keyring of a port at what file and store say.
type access struct {
	db apiKeyStore
	// sessions are taken, as on the port that has pages.
	sessions bool
	ring     *httpguard.Keyring
	log      *slog.Logger
	now      func() time.Time

	mu       sync.Mutex
	fromFile []httpguard.Key
	// link is the hash of the one-time token that was printed last, until when it works.
	link      httpguard.Hash
	linkUntil time.Time
}

// openAccess reads the keys. Without any the ring lets everybody in.
func openAccess(ctx context.Context, db apiKeyStore, keys []config.APIKey, sessions bool, log *slog.Logger) (*access, error) {
	a := &access{db: db, sessions: sessions, log: log, now: time.Now}
	a.ring = httpguard.NewKeyring(a.now)
	if err := a.useFile(keys); err != nil {
		return nil, err
	}
	if err := db.DropSessions(ctx, a.now().Add(-sessionIdle)); err != nil {
		return nil, err
	}
	return a, a.refresh(ctx)
}

// useFile takes over the keys of a config file; they act from the next refresh on.
func (a *access) useFile(keys []config.APIKey) error {
	var ring []httpguard.Key
	for _, k := range keys {
		hash := httpguard.HashOf(k.Key.Reveal())
		if k.Hash != "" {
			var err error
			if hash, err = httpguard.ParseHash(k.Hash); err != nil {
				return fmt.Errorf("api_keys: key %q: %w", k.Name, err)
			}
		}
		id := fileKeyID(k.Name)
		ring = append(ring, httpguard.Key{ID: id, Owner: id, Name: k.Name, Hash: hash, Scopes: k.Scopes})
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.fromFile = ring
	return nil
}

// fileKeyID is the id of a key of the config file: the same after its text was changed,
// and so are its conversations.
func fileKeyID(name string) string { return "cfg_" + name }

// refresh reads the stored keys.
func (a *access) refresh(ctx context.Context) error {
	stored, err := a.db.Keys(ctx)
	if err != nil {
		return err
	}
	a.mu.Lock()
	keys := slices.Clone(a.fromFile)
	a.mu.Unlock()
	for _, k := range stored {
		if k.Session && !a.sessions {
			continue
		}
		key, err := ringKey(k)
		if err != nil {
			a.log.Warn("a stored API key cannot be read and opens nothing", "key", k.ID, "error", err)
			continue
		}
		keys = append(keys, key)
	}
	a.ring.Set(keys)
	return nil
}

func ringKey(k store.APIKey) (httpguard.Key, error) {
	hash, err := httpguard.ParseHash(k.Hash)
	key := httpguard.Key{
		ID: k.ID, Owner: k.ID, Name: k.Name, Hash: hash, Scopes: k.Scopes, Expires: k.ExpiresAt,
		LastUsed: k.LastUsed, Session: k.Session,
	}
	if k.Session {
		key.Owner, key.Idle = operatorOwner, sessionIdle
		if key.LastUsed.IsZero() {
			key.LastUsed = k.CreatedAt
		}
	}
	return key, err
}

// watch keeps the keys fresh until ctx ends, and then notes the last uses. onFirst is
// called when the first key comes while the port is open already.
func (a *access) watch(ctx context.Context, onFirst func()) {
	on := a.ring.On()
	tick := time.NewTicker(keyRefresh)
	defer tick.Stop()
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			a.noteUse(context.WithoutCancel(ctx))
			return
		case <-tick.C:
		}
		if n%keyUseEvery == 0 {
			a.noteUse(ctx)
		}
		if err := a.refresh(ctx); err != nil && ctx.Err() == nil {
			a.log.Warn("API keys cannot be read anew; those known so far stay in force", "error", err)
		}
		if !on && a.ring.On() {
			on = true
			onFirst()
		}
	}
}

func (a *access) noteUse(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, keyRefresh)
	defer cancel()
	if err := a.db.TouchKeys(ctx, a.ring.TakeUsed()); err != nil {
		a.log.Warn("the last use of API keys could not be noted", "error", err)
	}
}

// newLink makes a one-time token; the one before it ends.
func (a *access) newLink() string {
	token := rand.Text()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.link, a.linkUntil = httpguard.HashOf(token), a.now().Add(signInLife)
	return token
}

// signIn trades the one-time token for a session.
func (a *access) signIn(ctx context.Context, token string) (session string, ok bool, err error) {
	a.mu.Lock()
	ok = a.link != httpguard.Hash{} && a.link == httpguard.HashOf(token) && a.now().Before(a.linkUntil)
	if ok {
		a.link = httpguard.Hash{}
	}
	a.mu.Unlock()
	if !ok {
		return "", false, nil
	}
	session = httpguard.NewKeyText()
	err = a.db.AddKey(ctx, store.APIKey{
		ID: "ses_" + rand.Text()[:16], Name: "browser", Hash: httpguard.HashOf(session).String(),
		Scopes: []string{httpguard.ScopeChat, httpguard.ScopeAdmin}, Session: true,
	})
	if err != nil {
		return "", false, err
	}
	return session, true, a.refresh(ctx)
}

// refuseOpen refuses to listen off loopback while there is no key.
func refuseOpen(ctx context.Context, cfg *config.Config, listen, database string) error {
	if config.Loopback(listen) || len(cfg.APIKeys) > 0 {
		return nil
	}
	db, err := store.Open(ctx, store.Config{Path: database, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	keys, err := db.Keys(ctx)
	if err = errors.Join(err, db.Close()); err != nil {
		return err
	}
	if slices.ContainsFunc(keys, func(k store.APIKey) bool { return !k.Session }) {
		return nil
	}
	return &exitError{exitUsage, fmt.Errorf("refusing to listen on %s without API keys: make one with molar keys create NAME, "+
		"or listen on loopback, such as 127.0.0.1:%s", listen, portOf(listen))}
}

// warnPlain says what others on the network can read.
func warnPlain(cfg *config.Config, listen string, log *slog.Logger) {
	if !config.Loopback(listen) && !cfg.TLS.On() {
		log.Warn("listening off loopback without TLS: keys and conversations can be read on the way; set tls.cert and tls.key, "+
			"or put a proxy with TLS in front and listen on loopback", "listen", listen)
	}
}

func portOf(address string) string {
	_, port, _ := net.SplitHostPort(address)
	return cmp.Or(port, "8000")
}

// reachable is an address of this machine under which a listener on address answers.
func reachable(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = "127.0.0.1" // "::" takes IPv4 too
	}
	return net.JoinHostPort(host, port)
}
