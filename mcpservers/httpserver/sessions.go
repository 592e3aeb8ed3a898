package httpserver

import (
	"errors"
	"sync"
	"time"

	"github.com/google/uuid"
)

// errSession is the error for a session that does not exist, or no more.
var errSession = errors.New("unknown session: initialize again")

// sessions are the sessions of one endpoint; it is mcp-go's session id manager. A
// session that nobody used for a while, and that has no stream open, is idle.
type sessions struct {
	now  func() time.Time
	mu   sync.Mutex
	live map[string]*usage
}

// usage says when a session was last used and how many streams hold it.
type usage struct {
	last  time.Time
	holds int
}

func newSessions(now func() time.Time) *sessions {
	return &sessions{now: now, live: map[string]*usage{}}
}

// Generate begins a session.
func (s *sessions) Generate() string {
	id := "mcp-" + uuid.NewString()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.live[id] = &usage{last: s.now()}
	return id
}

// Validate marks a session as used; an unknown one is an error.
func (s *sessions) Validate(id string) (terminated bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u, ok := s.live[id]
	if !ok {
		return false, errSession
	}
	u.last = s.now()
	return false, nil
}

// Terminate ends a session; ending it twice is no error.
func (s *sessions) Terminate(id string) (refused bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.live, id)
	return false, nil
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

// excess returns the session to end before one more begins, when there are as many
// as most: the one that was not used for longest and has no stream open.
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

// idle returns the sessions that were not used for as long as ttl.
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
