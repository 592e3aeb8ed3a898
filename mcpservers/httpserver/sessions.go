package httpserver

import (
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/mark3labs/mcp-go/server"

	"molar/internal/httpguard"
)

// errSession means that a session does not exist, or has ended.
var errSession = errors.New("unknown session: initialize again")

// sessions are the sessions of one endpoint. A session belongs to the key that started it. It is
// idle if it was not used for a while and has no open stream.
type sessions struct {
	now  func() time.Time
	mu   sync.Mutex
	live map[string]*usage
}

// usage is a session's key, its last use and the number of its open streams.
type usage struct {
	who   httpguard.Principal
	last  time.Time
	holds int
}

// keyed is the sessions as one key may use them; it is mcp-go's session id manager.
type keyed struct {
	*sessions
	who httpguard.Principal
}

// ResolveSessionIdManager implements server.SessionIdManagerResolver.
func (s *sessions) ResolveSessionIdManager(r *http.Request) server.SessionIdManager {
	if r == nil {
		return keyed{sessions: s}
	}
	return keyed{s, httpguard.PrincipalOf(r.Context())}
}

// Generate implements server.SessionIdManager.
func (k keyed) Generate() string { return k.begin(k.who) }

// Validate implements server.SessionIdManager.
func (k keyed) Validate(id string) (terminated bool, err error) { return false, k.check(k.who, id) }

// Terminate implements server.SessionIdManager; it may be called twice.
func (k keyed) Terminate(id string) (refused bool, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if u, ok := k.live[id]; ok && u.who.Key == k.who.Key {
		delete(k.live, id)
	}
	return false, nil
}

func newSessions(now func() time.Time) *sessions {
	return &sessions{now: now, live: map[string]*usage{}}
}

// begin starts a session.
func (s *sessions) begin(who httpguard.Principal) string {
	id := "mcp-" + uuid.NewString()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.live[id] = &usage{who: who, last: s.now()}
	return id
}

// check marks a session as used. It returns an error if the session is unknown or another key's.
func (s *sessions) check(who httpguard.Principal, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	u, ok := s.live[id]
	if !ok || u.who.Key != who.Key {
		return errSession
	}
	u.last = s.now()
	return nil
}

// holder returns the session's owner.
func (s *sessions) holder(id string) httpguard.Principal {
	s.mu.Lock()
	defer s.mu.Unlock()
	if u, ok := s.live[id]; ok {
		return u.who
	}
	return httpguard.Principal{}
}

// hold keeps a session from being idle until release is called.
func (s *sessions) hold(id string) (release func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u, ok := s.live[id]
	if !ok {
		return func() {}
	}
	u.holds++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		u.holds--
		u.last = s.now()
	}
}

// excess returns the session to end before another starts, if there are as many as most: the
// least recently used without an open stream.
func (s *sessions) excess(most int) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.live) < most {
		return nil
	}
	var oldest string
	for id, u := range s.live {
		if u.holds == 0 && (oldest == "" || u.last.Before(s.live[oldest].last)) {
			oldest = id
		}
	}
	if oldest == "" {
		return nil
	}
	return []string{oldest}
}

// idle returns the sessions unused for ttl.
func (s *sessions) idle(ttl time.Duration) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ids []string
	for id, u := range s.live {
		if u.holds == 0 && s.now().Sub(u.last) >= ttl {
			ids = append(ids, id)
		}
	}
	return ids
}
