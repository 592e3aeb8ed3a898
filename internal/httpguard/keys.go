package httpguard

import (
	"cmp"
	"context"
	"crypto/subtle"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"molar/schemas"
)

// The scopes of a key. None of them includes another one.
const (
	// ScopeChat is for turns and for one's own conversations.
	ScopeChat = "chat"
	// ScopeAdmin is for all changes of the host itself.
	ScopeAdmin = "admin"
	// ScopeMetrics is for reading /metrics.
	ScopeMetrics = "metrics"
	// ScopeReview is for reading and marking the turns of everybody.
	ScopeReview = "review"
	// ScopeHost is for a host that stores its memory here and acts for many owners.
	ScopeHost = "host"
)

// Scopes returns all scopes.
func Scopes() []string { return []string{ScopeChat, ScopeAdmin, ScopeMetrics, ScopeReview, ScopeHost} }

// SessionCookie is the cookie of a signed-in browser. SecureSessionCookie is its name over TLS: its
// prefix makes browsers accept it only from this host.
const (
	SessionCookie       = "molar_session"
	SecureSessionCookie = "__Host-molar_session"
)

// A Key is a client's key. Only the hash of its text is stored.
type Key struct {
	// ID names the key in lists and limits.
	ID string
	// Owner is the owner of the conversations to which the key gives access: the ID of the key,
	// or a name that all sessions share.
	Owner  string
	Name   string
	Hash   Hash
	Scopes []string
	// Expires is zero for a key that does not expire.
	Expires time.Time
	// Before is the hash of the text that the key had before, which is valid until BeforeUntil.
	Before      Hash
	BeforeUntil time.Time
	// Session keys come as a cookie only, all others in a header only.
	Session bool
	// Counts is the id under which limits count its requests; empty means ID.
	Counts string
	// Person is set for the session of somebody who signed in, and for a key that acts for a person.
	Person bool
	// Rights are what the groups of the key or its person allow; nil if they have no limit.
	Rights *schemas.Rights
	Manner
	// Idle is the time without use after which a key expires; zero means never.
	Idle     time.Duration
	LastUsed time.Time
}

// A Principal is the client of a request. The zero Principal is any client on this machine, on
// a port without keys: it may do everything and owns what has no owner.
type Principal struct {
	// Key is the ID of the key, and Owner the owner of the conversations to which it gives access.
	Key, Owner, Name string
	Scopes           []string
	// Person is set for somebody who signed in, and for a key that acts for them: Owner and Key are then
	// the person's id.
	Person bool
	// Credential is the id of the key or session that the request presented, with which its streams end;
	// empty for somebody whom a proxy names.
	Credential string
	// Session is set if that is a session, which a browser can end.
	Session bool
	// Rights are what the groups of the person allow; nil if they have no limit.
	Rights *schemas.Rights
	Manner
}

// A Manner says who is behind a key.
type Manner struct {
	// Data means that its messages are what others wrote, and not typed.
	Data bool
	// OwnSystem means that the operator answers for the system texts that it sends.
	OwnSystem bool
	// AskNever means that nobody is there to ask.
	AskNever bool
}

// May reports whether the principal has one of the scopes.
func (p Principal) May(scopes ...string) bool {
	return p.Key == "" || slices.ContainsFunc(scopes, func(s string) bool { return slices.Contains(p.Scopes, s) })
}

// Need refuses a principal without any of the scopes.
func (p Principal) Need(scopes ...string) *Refusal {
	if p.May(scopes...) {
		return nil
	}
	message := "this key lacks the scope " + strings.Join(scopes, " or ") + "; make one that has it: molar keys create NAME --scope " + scopes[0]
	if p.Person {
		message = "none of your groups has the scope " + strings.Join(scopes, " or ") + ", which this needs; ask the person who runs this assistant"
	}
	return &Refusal{Status: http.StatusForbidden, Type: "permission_error", Code: "insufficient_scope", Message: message}
}

type principalKey struct{}

// WithPrincipal stores the request's principal. It travels in the context because callbacks of
// an MCP library get nothing else of a request.
func WithPrincipal(ctx context.Context, p Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// PrincipalOf returns the request's principal, the zero Principal without keys.
func PrincipalOf(ctx context.Context) Principal {
	p, _ := ctx.Value(principalKey{}).(Principal)
	return p
}

// A Keyring holds the keys that a port accepts. It is safe for concurrent use. Once it has
// held a key it never admits everyone again: revoking the last key must not open the port.
type Keyring struct {
	now  func() time.Time
	mu   sync.Mutex
	keys []Key
	on   bool
	used map[string]time.Time
	// bound are the streams that end with their key.
	bound map[*binding]bool
}

type binding struct {
	key    string
	cancel context.CancelFunc
}

// NewKeyring returns a keyring without keys, which admits everyone on this machine. A nil
// clock means time.Now.
func NewKeyring(now func() time.Time) *Keyring {
	if now == nil {
		now = time.Now
	}
	return &Keyring{now: now, used: map[string]time.Time{}, bound: map[*binding]bool{}}
}

// Close makes the port require a key from now on, even if there is none.
func (k *Keyring) Close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.on = true
}

// Set replaces the keys. Streams of removed keys end.
func (k *Keyring) Set(keys []Key) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.keys = slices.Clone(keys)
	k.on = k.on || slices.ContainsFunc(keys, func(key Key) bool { return !key.Session })
	for b := range k.bound {
		if !slices.ContainsFunc(k.keys, func(key Key) bool { return key.ID == b.key && !k.over(key) }) {
			b.cancel()
		}
	}
}

// On reports whether a key is required.
func (k *Keyring) On() bool {
	if k == nil {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.on
}

// RightsOf returns what an owner may do now. ok is false if no client could make a request for the owner
// any more, with a key that has not expired or been revoked, or without one where none is required.
func (k *Keyring) RightsOf(owner string) (rights *schemas.Rights, ok bool) {
	if !k.On() {
		return nil, true
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	at := slices.IndexFunc(k.keys, func(key Key) bool { return key.Owner == owner && !k.over(key) })
	if at < 0 {
		return nil, false
	}
	return k.keys[at].Rights, true
}

// NameOf returns the name of the key to which an owner's conversations belong; "" if there is none.
func (k *Keyring) NameOf(owner string) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	at := slices.IndexFunc(k.keys, func(key Key) bool { return key.Owner == owner })
	if at < 0 {
		return ""
	}
	return k.keys[at].Name
}

// over reports whether a key has expired.
func (k *Keyring) over(key Key) bool {
	now := k.now()
	if !key.Expires.IsZero() && !now.Before(key.Expires) {
		return true
	}
	last := key.LastUsed
	if used := k.used[key.ID]; used.After(last) {
		last = used
	}
	return key.Idle > 0 && now.Sub(last) > key.Idle
}

// Identify returns the principal of a request: from the Authorization header, else x-api-key,
// else the cookie. An unknown key gets the same refusal as a revoked or expired one; one that
// was cut or mistyped gets its own. While no key is required, every client without a proxy is
// admitted.
func (k *Keyring) Identify(r *http.Request) (Principal, *Refusal) {
	if !k.On() {
		return Principal{}, viaProxy(r)
	}
	text, session := presented(r)
	if text == "" {
		return Principal{}, refuse(http.StatusUnauthorized, "invalid_api_key",
			"this server requires an API key, as Authorization: Bearer KEY or x-api-key: KEY; make one with: molar keys create NAME")
	}
	return k.Open(text, session)
}

// Open returns the principal of the key or session with this text, or why there is none.
func (k *Keyring) Open(text string, session bool) (Principal, *Refusal) {
	if p, ok := k.find(HashOf(text), session); ok {
		return p, nil
	}
	if isCut(text) {
		return Principal{}, refuse(http.StatusUnauthorized, "invalid_api_key",
			"this API key was cut or mistyped: copy the whole of it, which is mk_ and 49 letters and digits")
	}
	return Principal{}, refuse(http.StatusUnauthorized, "invalid_api_key",
		"this API key is not known here, or no longer; make a new one with: molar keys create NAME")
}

// find compares with every key in constant time, so that its duration does not reveal how near
// a guess came.
func (k *Keyring) find(hash Hash, session bool) (Principal, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	found, now := -1, k.now()
	for i, key := range k.keys {
		is := subtle.ConstantTimeCompare(key.Hash[:], hash[:])
		before := subtle.ConstantTimeCompare(key.Before[:], hash[:])
		if key.Session == session && (is == 1 || before == 1 && now.Before(key.BeforeUntil)) {
			found = i
		}
	}
	if found < 0 || k.over(k.keys[found]) {
		return Principal{}, false
	}
	key := k.keys[found]
	k.used[key.ID] = now
	return Principal{
		Key: cmp.Or(key.Counts, key.ID), Owner: key.Owner, Name: key.Name, Scopes: key.Scopes, Person: key.Person, Credential: key.ID,
		Session: key.Session, Rights: key.Rights, Manner: key.Manner,
	}, true
}

// PresentsSession reports whether a request carries the cookie of a session, and no key.
func PresentsSession(r *http.Request) bool {
	_, session := presented(r)
	return session
}

// presented returns the key that a request carries, and whether it came as a cookie.
func presented(r *http.Request) (text string, session bool) {
	if scheme, rest, ok := strings.Cut(r.Header.Get("Authorization"), " "); ok && strings.EqualFold(scheme, "Bearer") {
		return strings.TrimSpace(rest), false
	}
	if text := r.Header.Get("X-Api-Key"); text != "" {
		return text, false
	}
	for _, name := range []string{SecureSessionCookie, SessionCookie} {
		if c, err := r.Cookie(name); err == nil {
			return c.Value, true
		}
	}
	return "", false
}

// TakeUsed returns when each key was last used since the previous call.
func (k *Keyring) TakeUsed() map[string]time.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	used := k.used
	k.used = map[string]time.Time{}
	return used
}

// Bind returns a context that ends when the principal's key is revoked or expires, for streams
// that stay open. The caller calls cancel.
func (k *Keyring) Bind(ctx context.Context, p Principal) (bound context.Context, cancel context.CancelFunc) {
	ctx, end := context.WithCancel(ctx)
	if k == nil || p.Credential == "" {
		return ctx, end
	}
	b := &binding{p.Credential, end}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.bound[b] = true
	return ctx, func() {
		end()
		k.mu.Lock()
		defer k.mu.Unlock()
		delete(k.bound, b)
	}
}
