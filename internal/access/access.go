// Package access decides who may use a port: API keys of the config file and of the store,
// sessions of browsers, and the one-time links that start them.
package access

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"time"

	"molar/internal/cli"
	"molar/internal/config"
	"molar/internal/httpguard"
	"molar/internal/store"
	"molar/schemas"
)

// Times of keys and sessions.
const (
	// keyRefresh is how often the stored keys are reread: the longest time a revoked key still
	// works.
	keyRefresh = time.Second
	// rereadAfter is the shortest time between two readings for sessions that are unknown.
	rereadAfter = 100 * time.Millisecond
	// keyUseEvery is how many refreshes pass between two writes of the keys' last use.
	keyUseEvery = 10
	// dropEvery is how many refreshes pass between two deletions of sessions that are over.
	dropEvery = 600
	// sessionIdle is how long an unused browser stays signed in.
	sessionIdle = 12 * time.Hour
	// LinkLife is how long a link that signs a browser in works, unless it says otherwise.
	LinkLife = 10 * time.Minute
)

// A Store stores keys and sessions.
type Store interface {
	AddKey(ctx context.Context, k store.APIKey) error
	Keys(ctx context.Context) ([]store.APIKey, error)
	TouchKeys(ctx context.Context, used map[string]time.Time) error
	SavePerson(ctx context.Context, p store.Person) error
	Audit(ctx context.Context, line schemas.AuditLine) error
	DropSessions(ctx context.Context, unusedSince time.Time) error
	// RevokeKey deletes a key or session by its id.
	RevokeKey(ctx context.Context, id string) error
	// AddLink stores the hash of a one-time token of a key, and TakeLink deletes it and returns the key.
	AddLink(ctx context.Context, hash, keyID string, expires time.Time) error
	TakeLink(ctx context.Context, hash string) (keyID string, ok bool, err error)
}

// Access keeps the keyring of a port equal to file and store.
type Access struct {
	db Store
	// sessions are accepted, as on the port that has pages.
	sessions bool
	ring     *httpguard.Keyring
	log      *slog.Logger
	now      func() time.Time

	// rereading is held while keys are read for unknown sessions, the last time at reread.
	rereading sync.Mutex
	reread    time.Time
	// reading is held while keys are read.
	reading sync.Mutex

	mu       sync.Mutex
	fromFile []fileKey
	groups   config.Map[schemas.Group]
	// seen are people who made requests lately, and unsaved those of them who are not stored yet.
	seen    map[string]sight
	unsaved []store.Person
	// link is the hash of the last one-time token of this process.
	link string
	// keys are those of the ring, without the sessions.
	keys []httpguard.Key
}

// A Config configures the keys of a port.
type Config struct {
	Store Store
	// Keys are those of the config file.
	Keys []config.APIKey
	// Groups are those of the config file.
	Groups config.Map[schemas.Group]
	// Sessions accepts sessions of browsers, as on the port that has pages.
	Sessions bool
	// Closed makes the port require a key even if there is none.
	Closed bool
	Logger *slog.Logger
}

// Open reads the keys. Without any the ring admits everyone on this machine, unless the port
// is closed.
func Open(ctx context.Context, cfg Config) (*Access, error) {
	a := &Access{db: cfg.Store, sessions: cfg.Sessions, log: cfg.Logger, now: time.Now}
	a.ring = httpguard.NewKeyring(a.now)
	if cfg.Closed {
		a.ring.Close()
	}
	if err := a.UseFile(cfg.Keys, cfg.Groups); err != nil {
		return nil, err
	}
	if err := cfg.Store.DropSessions(ctx, a.now().Add(-sessionIdle)); err != nil {
		return nil, err
	}
	return a, a.refresh(ctx)
}

// UseFile applies the keys and groups of a config file; they take effect at the next refresh.
func (a *Access) UseFile(keys []config.APIKey, groups config.Map[schemas.Group]) error {
	var ring []fileKey
	for _, k := range keys {
		key, err := readFileKey(k)
		if err != nil {
			return fmt.Errorf("api_keys: key %q: %w", k.Name, err)
		}
		ring = append(ring, key)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.fromFile, a.groups = ring, groups
	return nil
}

// mannerOf reads the settings of a key that say who is behind it.
func mannerOf(m schemas.KeyManner) httpguard.Manner {
	return httpguard.Manner{Data: m.Input == "data", OwnSystem: m.System == "trusted", AskNever: m.Ask == "never"}
}

// refresh reads the stored keys.
func (a *Access) refresh(ctx context.Context) error {
	a.reading.Lock() // an older reading must not come after a newer one
	defer a.reading.Unlock()
	stored, err := a.db.Keys(ctx)
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	keys, sessions := a.ringOf(stored)
	a.keys = keys
	if a.sessions {
		keys = slices.Concat(keys, sessions)
	}
	a.ring.Set(keys)
	return nil
}

// Reread reads the stored keys for a session that is unknown here, because it may have begun at another
// replica a moment ago. Many such requests read them together, and at most every rereadAfter.
func (a *Access) Reread(ctx context.Context) error {
	asked := a.now()
	a.rereading.Lock()
	defer a.rereading.Unlock()
	if a.reread.After(asked) {
		return nil
	}
	if wait := rereadAfter - a.now().Sub(a.reread); wait > 0 {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
	}
	a.reread = a.now()
	return a.refresh(ctx)
}

// Ring returns the keyring for the guards of a port.
func (a *Access) Ring() *httpguard.Keyring { return a.ring }

// Watch keeps the keys current until ctx ends, and then stores the last uses. onFirst is
// called when the first key appears while the port is already open.
func (a *Access) Watch(ctx context.Context, onFirst func()) {
	on := a.ring.On()
	tick := time.NewTicker(keyRefresh)
	defer tick.Stop()
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			a.saveSeen(context.WithoutCancel(ctx))
			a.noteUse(context.WithoutCancel(ctx))
			return
		case <-tick.C:
		}
		a.saveSeen(ctx)
		if n%keyUseEvery == 0 {
			a.noteUse(ctx)
		}
		if n%dropEvery == 0 {
			a.dropSessions(ctx)
		}
		if err := a.refresh(ctx); err != nil && ctx.Err() == nil {
			a.log.Warn("API keys cannot be reloaded; those read before stay in force", "error", err)
		}
		if !on && a.ring.On() {
			on = true
			onFirst()
		}
	}
}

func (a *Access) noteUse(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, keyRefresh)
	defer cancel()
	if err := a.db.TouchKeys(ctx, a.ring.TakeUsed()); err != nil {
		a.log.Warn("the last use of API keys could not be stored", "error", err)
	}
}

// dropSessions deletes the sessions that are over, which would be read again with each refresh.
func (a *Access) dropSessions(ctx context.Context) {
	if err := a.db.DropSessions(ctx, a.now().Add(-sessionIdle)); err != nil && ctx.Err() == nil {
		a.log.Warn("sessions that are over could not be deleted", "error", err)
	}
}

// ClosesPages reports whether the port with the pages requires a key even if there is none: strangers may reach
// it, as the visitors of a public assistant do, and those whom a proxy lets through. Where a proxy names
// people, the port refuses those without a name itself.
func ClosesPages(cfg *config.Config) bool {
	strangers := cfg.ProxySetting() != "" || cfg.Public.On()
	return strangers && cfg.Identity.Header == "" || cfg.Identity.OIDC.On()
}

// CheckListen refuses a port that no one, or everyone, could use while there is no key: one
// off loopback, and one behind a proxy. The port with the pages (listen) also admits people
// whom the proxy names, and on loopback a link; the MCP port admits keys alone.
func CheckListen(ctx context.Context, cfg *config.Config, listen, database string) error {
	pages, loopback := listen == cfg.Listen, config.Loopback(listen)
	switch {
	case len(cfg.APIKeys) > 0 || pages && cfg.Identity.SignsIn():
		return nil
	case loopback && (pages || cfg.ProxySetting() == ""):
		return nil
	}
	db, err := store.Open(ctx, store.Config{Path: database})
	if err != nil {
		return err
	}
	keys, err := db.Keys(ctx)
	if err = errors.Join(err, db.Close()); err != nil { //nolint:contextcheck // Close bounds its last write itself
		return err
	}
	if slices.ContainsFunc(keys, func(k store.APIKey) bool { return !k.Session }) {
		return nil
	}
	if loopback {
		return cli.Usage(fmt.Errorf("refusing to listen on %s without API keys because %s allows access through a proxy: "+
			"make one with molar keys create NAME", listen, cfg.ProxySetting()))
	}
	return cli.Usage(fmt.Errorf("refusing to listen on %s without API keys: make one with molar keys create NAME, "+
		"or listen on loopback, such as 127.0.0.1:%s", listen, portOf(listen)))
}

func portOf(address string) string {
	_, port, _ := net.SplitHostPort(address)
	return cmp.Or(port, "8000")
}
