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
	// storeEvery is how long what was read of the store counts: how long a login or a
	// logout of another process goes unnoticed at most.
	storeEvery = time.Second
	// leaseTime is how long a process may take for a renewal before another tries,
	// leasePoll how often one that waits for it looks.
	leaseTime = 2 * callTimeout
	leasePoll = 100 * time.Millisecond
	// renewPause follows a renewal that went wrong on the way.
	renewPause = 5 * time.Second
)

// A Store keeps logins by the server's name. Revisions tell whether a login is still
// the one that was read: 0 means that there is none.
type Store interface {
	GetLogin(ctx context.Context, server string) (state json.RawMessage, revision int64, err error)
	// SwapLogin writes only over the given revision, and ends a lease; nil deletes.
	SwapLogin(ctx context.Context, server string, revision int64, state json.RawMessage) (bool, error)
	// LeaseLogin gives one process at a time the right to renew.
	LeaseLogin(ctx context.Context, server string, revision int64, life time.Duration) (bool, error)
}

// Get reads a login; nil means that there is none for this server as it is configured.
func Get(ctx context.Context, store Store, s Server) (*Grant, int64, error) {
	state, revision, err := store.GetLogin(ctx, s.Name)
	if err != nil || revision == 0 {
		return nil, 0, err
	}
	var g Grant
	if json.Unmarshal(state, &g) != nil || !g.fits(s) {
		return nil, revision, nil // it is of no use, and the next login replaces it
	}
	return &g, revision, nil
}

// Put stores the login of a person, over whatever there is.
func Put(ctx context.Context, store Store, s Server, g Grant) error {
	state, err := json.Marshal(g) //nolint:gosec // the store is where the secrets of a login belong
	if err != nil {
		return fmt.Errorf("keep the login: %w", err)
	}
	return replace(ctx, store, s, state)
}

// Drop deletes the login, and reports whether there was one.
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
	return errors.New("keep the login: others change it all the time; try again")
}

// A Source gives out the access token of one server and renews it: one renewal at a
// time, in this process and, by a lease, among all that share the store.
type Source struct {
	server Server
	store  Store
	client *Client
	log    *slog.Logger

	mu       sync.Mutex
	grant    *Grant
	revision int64
	readAt   time.Time
	unsaved  bool   // the store has not taken grant yet
	refused  string // the token that the server wants no more
	renewing *renewal
	pause    time.Time // until then a failed renewal is not tried again
	fault    error
	missed   []string // scopes that a login without a person lacked
	closed   bool
	work     sync.WaitGroup
}

// A renewal is shared by all who wait for it.
type renewal struct {
	done   chan struct{}
	cancel context.CancelFunc // ends its wait, not the exchange
	token  string
	err    error
}

// NewSource returns the source of a server's tokens. Close waits for a renewal.
func NewSource(s Server, store Store, client *Client, log *slog.Logger) *Source {
	return &Source{server: s, store: store, client: client, log: log}
}

// Close waits for a renewal whose exchange has begun, at most 20 s: its token would be
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

// Token returns the access token, "" when a person has to log in.
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
		return g.Access, nil // there is time to try again
	}
	return token, err
}

// Refused is called with a token that the server answered 401 to. It returns another
// one to try, or "" when a person has to log in.
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

// Reject notes that the server wants a token no more.
func (s *Source) Reject(token string) {
	s.mu.Lock()
	s.refused = token
	s.mu.Unlock()
}

// Fresh reports whether there is a token that the server has not refused.
func (s *Source) Fresh(ctx context.Context) bool {
	if s.Alone() {
		return false // a token that was refused has no better one after it
	}
	g, err := s.read(ctx, 0)
	if err != nil || g == nil || g.Access == "" {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return g.Access != s.refused
}

// Lacking keeps the scopes that the server missed, for the next login to ask for.
func (s *Source) Lacking(ctx context.Context, scopes []string) error {
	if s.Alone() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if wanted := unique(append(s.missed, scopes...)); len(wanted) > len(s.missed) && len(wanted) <= maxScopes {
			s.missed, s.grant = wanted, nil
		}
		return nil
	}
	for {
		g, revision, err := Get(ctx, s.store, s.server)
		if err != nil || g == nil {
			return err
		}
		wanted := unique(append(g.Wanted, scopes...))
		if len(wanted) == len(g.Wanted) || len(wanted) > maxScopes {
			return nil
		}
		leased, err := s.store.LeaseLogin(ctx, s.server.Name, revision, leaseTime)
		if err != nil {
			return err
		}
		if leased {
			g.Wanted = wanted
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

// read returns the login as it was in the store at most age ago; nil means none.
// While the store is out of reach, what was read last counts.
func (s *Source) read(ctx context.Context, age time.Duration) (*Grant, error) {
	now := s.client.now()
	s.mu.Lock()
	g, revision, unsaved := s.grant, s.revision, s.unsaved
	fresh := !s.readAt.IsZero() && now.Sub(s.readAt) < age
	s.mu.Unlock()
	if fresh || s.Alone() { // a login without a person is kept nowhere else
		return g, nil
	}
	if unsaved {
		if _, err := s.swap(ctx, *g, revision); err != nil {
			return g, nil // the token is good, and is stored later
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
	}
	return s.grant, nil
}

// swap writes g over revision; false means that somebody else wrote meanwhile.
func (s *Source) swap(ctx context.Context, g Grant, revision int64) (bool, error) {
	state, err := json.Marshal(g) //nolint:gosec // the store is where the secrets of a login belong
	if err != nil {
		return false, err
	}
	return s.store.SwapLogin(ctx, s.server.Name, revision, state)
}
