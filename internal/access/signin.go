package access

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"slices"
	"strings"

	"molar/internal/httpguard"
	"molar/internal/store"
)

// NewToken returns a one-time token for a link that signs a browser in, and its hash for the store.
func NewToken() (token, hash string) {
	token = rand.Text()
	return token, httpguard.HashOf(token).String()
}

// NewLink makes a one-time token that signs the operator in; the one before becomes invalid.
func (a *Access) NewLink(ctx context.Context) (token string, err error) {
	token, hash := NewToken()
	a.mu.Lock()
	before := a.link
	a.link = hash
	a.mu.Unlock()
	if before != "" {
		if _, _, err := a.db.TakeLink(ctx, before); err != nil {
			return "", err
		}
	}
	return token, a.db.AddLink(ctx, hash, operatorOwner, a.now().Add(LinkLife))
}

// SignIn trades a one-time token for a session: of the operator, or of a key.
func (a *Access) SignIn(ctx context.Context, token string) (session string, ok bool, err error) {
	id, ok, err := a.db.TakeLink(ctx, httpguard.HashOf(token).String())
	if err != nil || !ok {
		return "", false, err
	}
	if id == operatorOwner {
		session, err = a.begin(ctx, store.APIKey{Name: "browser", Scopes: []string{httpguard.ScopeChat, httpguard.ScopeAdmin, httpguard.ScopeReview}})
		return session, err == nil, err
	}
	if err := a.refresh(ctx); err != nil { // the key may be newer than the last one
		return "", false, err
	}
	key, ok := a.key(id)
	if !ok {
		return "", false, nil
	}
	session, err = a.begin(ctx, sessionOf(key, ""))
	return session, err == nil, err
}

// SignInKey trades the text of a key for a session, which has what the key opens and ends with it.
func (a *Access) SignInKey(ctx context.Context, text string) (session string, refusal *httpguard.Refusal, err error) {
	who, refusal := a.ring.Open(text, false)
	if refusal != nil {
		return "", refusal, nil
	}
	key, ok := a.key(who.Credential)
	if !ok || !OpensPages(key.Scopes) {
		return "", &httpguard.Refusal{
			Status: http.StatusForbidden, Type: "permission_error", Code: "key_opens_no_page",
			Message: "this key opens no page: it has none of the scopes " + strings.Join(pageScopes(), ", "),
		}, nil
	}
	session, err = a.begin(ctx, sessionOf(key, httpguard.HashOf(text).String()))
	return session, nil, err
}

// OpensPages reports whether a browser with these scopes has any page.
func OpensPages(scopes []string) bool {
	return slices.ContainsFunc(pageScopes(), func(s string) bool { return slices.Contains(scopes, s) })
}

func pageScopes() []string {
	return []string{httpguard.ScopeChat, httpguard.ScopeAdmin, httpguard.ScopeReview}
}

// key returns a key of the ring by its id.
func (a *Access) key(id string) (httpguard.Key, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	i := slices.IndexFunc(a.keys, func(k httpguard.Key) bool { return k.ID == id })
	if i < 0 {
		return httpguard.Key{}, false
	}
	key := a.keys[i]
	return key, key.Expires.IsZero() || a.now().Before(key.Expires)
}

// sessionOf is a session of a key, made with the text of this hash.
func sessionOf(key httpguard.Key, madeWith string) store.APIKey {
	k := store.APIKey{Name: key.Name, Scopes: key.Scopes, Parent: key.ID, MadeWith: madeWith, ExpiresAt: key.Expires}
	if key.Person {
		k.Owner = key.Owner
	}
	return k
}

// begin stores a session and returns the value of its cookie.
func (a *Access) begin(ctx context.Context, k store.APIKey) (session string, err error) {
	session = httpguard.NewKeyText()
	k.ID, k.Hash, k.Session = "ses_"+rand.Text()[:16], httpguard.HashOf(session).String(), true
	if err := a.db.AddKey(ctx, k); err != nil {
		return "", err
	}
	return session, a.refresh(ctx)
}

// SignOut ends the session of a cookie's value, if there is one.
func (a *Access) SignOut(ctx context.Context, session string) error {
	stored, err := a.db.Keys(ctx)
	if err != nil {
		return err
	}
	hash := httpguard.HashOf(session).String()
	i := slices.IndexFunc(stored, func(k store.APIKey) bool { return k.Session && k.Hash == hash })
	if i < 0 {
		return nil
	}
	if err := a.db.RevokeKey(ctx, stored[i].ID); err != nil && !errors.Is(err, store.ErrNoKey) {
		return err
	}
	return a.refresh(ctx)
}
