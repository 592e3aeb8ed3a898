package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

const (
	// storeEvery is how long a read of the store stays valid, so how long a login or logout in
	// another process may go unnoticed.
	storeEvery = time.Second
	// leaseTime is the time for a renewal before another process may try, leasePoll how often a
	// waiting process checks.
	leaseTime = 2 * callTimeout
	leasePoll = 100 * time.Millisecond
	// renewPause is the pause after a failed renewal.
	renewPause = 5 * time.Second
)

// A Store keeps logins by server name. A revision identifies a version of a login; 0 means that
// there is none.
type Store interface {
	GetLogin(ctx context.Context, server string) (state json.RawMessage, revision int64, err error)
	// SwapLogin writes only if the revision matches, and ends a lease; nil deletes.
	SwapLogin(ctx context.Context, server string, revision int64, state json.RawMessage) (bool, error)
	// LeaseLogin gives one process at a time the right to renew.
	LeaseLogin(ctx context.Context, server string, revision int64, life time.Duration) (bool, error)
}

// Get reads a login; it returns nil if there is none for the server as configured.
func Get(ctx context.Context, store Store, s Server) (*Grant, int64, error) {
	state, revision, err := store.GetLogin(ctx, s.Name)
	if err != nil || revision == 0 {
		return nil, 0, err
	}
	var g Grant
	if json.Unmarshal(state, &g) != nil || !g.fits(s) {
		return nil, revision, nil // unusable; the next login replaces it
	}
	return &g, revision, nil
}

// Put stores a person's login and overwrites any other.
func Put(ctx context.Context, store Store, s Server, g Grant) error {
	state, err := json.Marshal(g) //nolint:gosec // the store is where the secrets of a login belong
	if err != nil {
		return fmt.Errorf("store the login: %w", err)
	}
	return replace(ctx, store, s, state)
}

// Drop deletes the login and reports whether there was one.
func Drop(ctx context.Context, store Store, s Server) (bool, error) {
	_, revision, err := store.GetLogin(ctx, s.Name)
	if err != nil || revision == 0 {
		return false, err
	}
	return true, replace(ctx, store, s, nil)
}

func replace(ctx context.Context, store Store, s Server, state json.RawMessage) error {
	const attempts = 10 // others change a login rarely
	for range attempts {
		_, revision, err := store.GetLogin(ctx, s.Name)
		if err != nil {
			return err
		}
		if swapped, err := store.SwapLogin(ctx, s.Name, revision, state); err != nil || swapped {
			return err
		}
		if state == nil && revision == 0 {
			return nil
		}
	}
	return errors.New("store the login: other processes keep changing it; try again")
}

// A Source returns and renews the access token of one server, with one renewal at a time: in this
// process and, by a lease, among all processes that share the store.
type Source struct {
	server Server
	store  Store
	client *Client
	log    *slog.Logger

	mu       sync.Mutex
	grant    *Grant
	revision int64
	readAt   time.Time
	unsaved  bool   // grant is not stored yet
	refused  string // the token that the server refused
	renewing *renewal
	pause    time.Time // no renewal before this time
	fault    error
	missed   []string // scopes that a login without a person lacked
	closed   bool
	used     bool // a token was read
	work     sync.WaitGroup
}

// A renewal is shared by all its waiters.
type renewal struct {
	done   chan struct{}
	cancel context.CancelFunc // ends its wait, not the exchange
	token  string
	err    error
}

// NewSource returns a server's token source. Close waits for a renewal.
func NewSource(s Server, store Store, client *Client, log *slog.Logger) *Source {
	return &Source{server: s, store: store, client: client, log: log}
}

// Close waits for a renewal whose exchange has begun, at most 20 s, since its token would be
// lost.
func (s *Source) Close() {
	s.mu.Lock()
	s.closed = true
	if s.renewing != nil {
		s.renewing.cancel()
	}
	s.mu.Unlock()
	s.work.Wait()
}

// Alone reports whether the host logs in without a person.
func (s *Source) Alone() bool { return s.server.Alone() }

// Token returns the access token, "" if a person must log in.
func (s *Source) Token(ctx context.Context) (string, error) {
	g, err := s.read(ctx, storeEvery)
	if err == nil && g == nil && s.Alone() {
		return s.renew(ctx, "")
	}
	if err != nil || g == nil {
		return "", err
	}
	now := s.client.now()
	if !g.expired(now, true) {
		return g.Access, nil
	}
	if g.Refresh == "" && !s.Alone() {
		if g.expired(now, false) {
			return "", nil
		}
		return g.Access, nil
	}
	token, err := s.renew(ctx, g.Access)
	if err != nil && ctx.Err() == nil && !g.expired(now, false) {
		return g.Access, nil // still valid; the renewal is retried later
	}
	return token, err
}

// Refused handles a token that got a 401. It returns another one to try, or "" if a person must
// log in.
func (s *Source) Refused(ctx context.Context, token string) (string, error) {
	g, err := s.read(ctx, 0)
	if err != nil {
		return "", err
	}
	if g != nil && g.Access != token && !g.expired(s.client.now(), false) {
		return g.Access, nil
	}
	if !s.Alone() && (g == nil || g.Refresh == "") {
		s.Reject(token)
		return "", nil
	}
	return s.renew(ctx, token)
}

// Reject records a token that the server refused.
func (s *Source) Reject(token string) {
	s.mu.Lock()
	s.refused = token
	s.mu.Unlock()
}

// Fresh reports whether there is a token that the server has not refused.
func (s *Source) Fresh(ctx context.Context) bool {
	if s.Alone() {
		return false // a new token would be no better
	}
	g, err := s.read(ctx, 0)
	if err != nil || g == nil || g.Access == "" {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return g.Access != s.refused
}

// Lacking stores the scopes that the server required, for the next login to request.
func (s *Source) Lacking(ctx context.Context, scopes []string) error {
	if s.Alone() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if lacking := unique(append(s.missed, scopes...)); len(lacking) > len(s.missed) && len(lacking) <= maxScopes {
			s.missed, s.grant = lacking, nil
		}
		return nil
	}
	for {
		g, revision, err := Get(ctx, s.store, s.server)
		if err != nil || g == nil {
			return err
		}
		lacking := unique(append(g.Wanted, scopes...))
		if len(lacking) == len(g.Wanted) || len(lacking) > maxScopes {
			return nil
		}
		leased, err := s.store.LeaseLogin(ctx, s.server.Name, revision, leaseTime)
		if err != nil {
			return err
		}
		if leased {
			g.Wanted = lacking
			_, err := s.swap(ctx, *g, revision)
			return err
		}
		if err := pause(ctx, leasePoll); err != nil {
			return err
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// read returns the stored login, from a read at most age ago; nil if there is none. If the store
// fails, it returns the last one read.
func (s *Source) read(ctx context.Context, age time.Duration) (*Grant, error) {
	now := s.client.now()
	s.mu.Lock()
	g, revision, unsaved := s.grant, s.revision, s.unsaved
	fresh := !s.readAt.IsZero() && now.Sub(s.readAt) < age
	s.mu.Unlock()
	if fresh || s.Alone() { // a login without a person is not stored
		return g, nil
	}
	if unsaved {
		if _, err := s.swap(ctx, *g, revision); err != nil {
			return g, nil // the token is valid and stored later
		}
	}
	stored, revision, err := Get(ctx, s.store, s.server)
	if err != nil {
		if g != nil && ctx.Err() == nil {
			return g, nil
		}
		return nil, fmt.Errorf("read the login at %q: %w", s.server.Name, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.unsaved || unsaved {
		s.grant, s.revision, s.readAt, s.unsaved = stored, revision, now, false
		s.used = s.used || stored != nil && stored.Access != ""
	}
	return s.grant, nil
}

// swap writes g if the revision matches; false means that another process wrote meanwhile.
func (s *Source) swap(ctx context.Context, g Grant, revision int64) (bool, error) {
	state, err := json.Marshal(g) //nolint:gosec // the store is where the secrets of a login belong
	if err != nil {
		return false, err
	}
	return s.store.SwapLogin(ctx, s.server.Name, revision, state)
}

// Used reports whether a token was read, and so may have been sent.
func (s *Source) Used() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used
}

// Stored reports whether the store still holds a login with a token. If the store fails, the last one
// that was read counts.
func (s *Source) Stored(ctx context.Context) bool {
	g, err := s.read(ctx, 0)
	return err == nil && g != nil && g.Access != ""
}
