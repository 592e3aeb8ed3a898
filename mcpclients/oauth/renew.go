package oauth

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// storeTimeout bounds the storing of a renewed login.
const storeTimeout = 5 * time.Second

// renew returns a token other than stale, or "" if a person must log in. It starts a renewal, or
// waits for the one under way. The renewal continues after ctx ends, since the old refresh token
// may be spent.
func (s *Source) renew(ctx context.Context, stale string) (string, error) {
	s.mu.Lock()
	switch {
	case s.closed:
		s.mu.Unlock()
		return "", errors.New("renew the login: the server is being detached")
	case s.renewing == nil && s.client.now().Before(s.pause):
		defer s.mu.Unlock()
		return "", s.fault
	case s.renewing == nil:
		s.start(stale)
	}
	r := s.renewing
	s.mu.Unlock()
	select {
	case <-r.done:
		return r.token, r.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// start starts a renewal. s.mu is held.
func (s *Source) start(stale string) {
	// Twice the limit: for the wait for another process, and for the exchange.
	ctx, cancel := context.WithTimeout(context.Background(), 2*callTimeout)
	r := &renewal{done: make(chan struct{}), cancel: cancel}
	s.renewing = r
	s.work.Go(func() {
		defer cancel()
		r.token, r.err = s.renewStored(ctx, stale)
		if r.err != nil {
			r.err = fmt.Errorf("renew the login at %q: %w", s.server.Name, r.err)
			s.log.Warn("the login at an MCP server could not be renewed", "server", s.server.Name, "error", r.err)
		}
		s.mu.Lock()
		s.renewing, s.fault, s.pause = nil, r.err, time.Time{}
		if r.err != nil {
			s.pause = s.client.now().Add(renewPause)
		}
		s.mu.Unlock()
		close(r.done)
	})
}

// renewStored renews the stored login, unless another process did.
func (s *Source) renewStored(ctx context.Context, stale string) (string, error) {
	if s.Alone() {
		return s.obtain(ctx, stale)
	}
	for {
		g, err := s.read(ctx, 0)
		if err != nil {
			return "", err
		}
		if g == nil || g.Access != stale || g.Refresh == "" {
			return s.usable(g), nil
		}
		s.mu.Lock()
		revision, unsaved := s.revision, s.unsaved
		s.mu.Unlock()
		leased := unsaved // no other process has it
		if !leased {
			if leased, err = s.store.LeaseLogin(ctx, s.server.Name, revision, leaseTime); err != nil {
				return "", fmt.Errorf("lease it: %w", err)
			}
		}
		if leased {
			return s.exchange(ctx, *g, revision)
		}
		if err := pause(ctx, leasePoll); err != nil {
			return "", fmt.Errorf("wait for another molar that renews it: %w", err)
		}
	}
}

// obtain logs in without a person, unless that has happened meanwhile.
func (s *Source) obtain(ctx context.Context, stale string) (string, error) {
	s.mu.Lock()
	g, missed := s.grant, s.missed
	s.mu.Unlock()
	if token := s.usable(g); token != "" && token != stale {
		return token, nil
	}
	next, err := s.client.obtain(ctx, s.server, missed)
	if err != nil && !errors.Is(err, ErrNoLogin) { // without a login the token is empty
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.grant = &next
	return next.Access, nil
}

func (s *Source) usable(g *Grant) string {
	if g == nil || g.expired(s.client.now(), false) {
		return ""
	}
	return g.Access
}

// exchange renews the login under its lease and stores the result.
func (s *Source) exchange(ctx context.Context, g Grant, revision int64) (string, error) {
	// The exchange has its own limit, however long the wait took.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	next, err := s.client.renew(ctx, s.server, g)
	if refusal, ok := errors.AsType[*refusalError](err); ok && refusal.final() {
		s.log.Warn("the login at an MCP server has ended", "server", s.server.Name, "error", err, "do", "molar servers login "+s.server.Name)
		next = g
		next.Access, next.Refresh = "", "" // so that they are never sent again
	} else if err != nil {
		_, _ = s.swap(context.WithoutCancel(ctx), g, revision) // ends the lease
		return "", err
	}
	return s.keep(context.WithoutCancel(ctx), next, revision)
}

// keep stores a renewed login. If the store fails, the login stays in memory until the store
// accepts it: the old refresh token is spent.
func (s *Source) keep(ctx context.Context, g Grant, revision int64) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	swapped, err := s.swap(ctx, g, revision)
	if err != nil {
		s.log.Warn("a renewed login could not be stored; retrying", "server", s.server.Name, "error", err)
	}
	if err == nil && !swapped { // a person logged in or out meanwhile
		stored, err := s.read(ctx, 0)
		return s.usable(stored), err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.grant, s.unsaved, s.readAt = &g, err != nil, s.client.now()
	if err == nil {
		s.readAt = time.Time{} // to reread the revision
	}
	return g.Access, nil
}
