package access

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"molar/internal/httpguard"
	"molar/internal/oidc"
	"molar/internal/store"
	"molar/schemas"
)

// seeEvery is how often a person who only makes requests is noted.
const seeEvery = time.Minute

// maxSeen is how many people are remembered between two notes.
const maxSeen = 10_000

// See notes, in the background, a person whom a proxy or a token names.
func (a *Access) See(p store.Person) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.now()
	if last, ok := a.seen[p.Owner]; ok && now.Sub(last.at) < seeEvery && last.Name == p.Name && slices.Equal(last.Groups, p.Groups) {
		return
	}
	if a.seen == nil || len(a.seen) >= maxSeen {
		a.seen = map[string]sight{}
	}
	if p.LastSeen.IsZero() {
		p.LastSeen = now
	}
	a.seen[p.Owner] = sight{p, now}
	a.unsaved = append(a.unsaved, p)
}

// A sight is a person, and when they were seen.
type sight struct {
	store.Person
	at time.Time
}

// saveSeen stores the people who were seen.
func (a *Access) saveSeen(ctx context.Context) {
	a.mu.Lock()
	people := a.unsaved
	a.unsaved = nil
	a.mu.Unlock()
	for _, p := range people {
		if err := a.db.SavePerson(ctx, p); err != nil {
			a.log.Warn("a person could not be noted", "error", err)
			return
		}
	}
}

// A SignIn signs people in at an identity provider.
type SignIn struct {
	*oidc.Provider
	access *Access
	// longest is how long somebody stays signed in.
	longest time.Duration
}

// SignInAt returns how people sign in at a provider, for at most a time.
func (a *Access) SignInAt(p *oidc.Provider, longest time.Duration) *SignIn {
	return &SignIn{p, a, longest}
}

// Finish signs in the person who came back from the provider: it returns the value of the session's
// cookie, and the path where they go. It refuses a person none of whose groups is admitted.
func (s *SignIn) Finish(ctx context.Context, kept string, answer url.Values) (session, to string, refusal *httpguard.Refusal, err error) {
	who, to, err := s.Provider.Finish(ctx, kept, answer)
	if err != nil {
		return "", to, refused(err), nil
	}
	person := personOf(who)
	if err := s.access.db.SavePerson(ctx, person); err != nil {
		return "", to, nil, err
	}
	if _, ok := s.access.Rights(who.Groups); !ok {
		no := false
		return "", to, httpguard.NoGroup(), s.access.db.Audit(ctx, schemas.AuditLine{
			Event: schemas.EventLogin, Person: person.Owner, Allowed: &no, Detail: "none of the groups is admitted",
		})
	}
	session, err = s.access.begin(ctx, store.APIKey{
		Name: person.Name, Owner: person.Owner, MadeWith: who.Session, Scopes: []string{httpguard.ScopeChat}, ExpiresAt: s.access.now().Add(s.longest),
	})
	return session, to, nil, err
}

// LogOut ends the sessions that the provider ends with a logout token, or refuses it.
func (s *SignIn) LogOut(ctx context.Context, token string) (*httpguard.Refusal, error) {
	err := s.LoggedOut(ctx, token, func(who oidc.Person) error { return s.access.endSessions(ctx, who) })
	switch {
	case errors.Is(err, oidc.ErrRefused):
		return &httpguard.Refusal{Status: http.StatusBadRequest, Code: "invalid_token", Message: err.Error()}, nil
	case errors.Is(err, oidc.ErrAway):
		return refused(err), nil
	}
	return nil, err
}

// endSessions ends the sessions that a person began at the provider. If it names one of its own, those
// end that began with it, and those of the person of which it did not say with which they began.
func (a *Access) endSessions(ctx context.Context, who oidc.Person) error {
	stored, err := a.db.Keys(ctx)
	if err != nil {
		return err
	}
	for _, k := range stored {
		theirs := k.Owner == who.Owner() || who.Subject == "" && k.MadeWith != "" && strings.HasPrefix(k.Owner, who.Owner())
		if !k.Session || k.Parent != "" || !theirs || who.Session != "" && k.MadeWith != "" && k.MadeWith != who.Session {
			continue
		}
		if err := a.db.RevokeKey(ctx, k.ID); err != nil && !errors.Is(err, store.ErrNoKey) {
			return err
		}
	}
	return a.refresh(ctx)
}

// Bearer returns the person whom a token of the provider names.
func (s *SignIn) Bearer(ctx context.Context, text string) (schemas.Caller, *httpguard.Refusal) {
	if !oidc.IsToken(text) {
		return schemas.Caller{}, &httpguard.Refusal{
			Status: http.StatusUnauthorized, Code: "invalid_token",
			Message: "this is neither an API key that is known here nor a signed token (JWT) of the identity provider",
		}
	}
	who, fresh, err := s.Provider.Bearer(ctx, text)
	if err != nil {
		return schemas.Caller{}, refused(err)
	}
	person := personOf(who)
	if fresh {
		s.access.See(person)
	}
	return schemas.Caller{ID: person.Owner, Name: person.Name, Groups: person.Groups}, nil
}

func personOf(who oidc.Person) store.Person {
	return store.Person{Owner: who.Owner(), Issuer: who.Issuer, Subject: who.Subject, Name: who.Name, Email: who.Email, Groups: who.Groups, LastSeen: who.At}
}

// refused returns the refusal for a person who was not signed in.
func refused(err error) *httpguard.Refusal {
	if errors.Is(err, oidc.ErrRefused) {
		return &httpguard.Refusal{Status: http.StatusUnauthorized, Code: "invalid_token", Message: err.Error()}
	}
	return &httpguard.Refusal{
		Status: http.StatusServiceUnavailable, Type: "server_error", Code: "identity_unavailable", RetryAfter: seeEvery,
		Message: "the identity provider does not answer, so nobody can sign in at this moment; who is signed in stays so",
	}
}
