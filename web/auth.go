package web

import (
	"context"
	"net/http"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"molar/internal/httpguard"
	"molar/web/wire"
)

// Access decides who may use the port. The zero Access admits every client that comes without
// a proxy, to every route.
type Access struct {
	// Keys are what clients present. Nil, or a ring that requires none, admits every client
	// that comes without a proxy.
	Keys *httpguard.Keyring
	// SignIn trades a one-time token for the text of a session's cookie. ok is false for a
	// token that is unknown, used or too old. Nil turns sign-in off.
	SignIn func(ctx context.Context, token string) (session string, ok bool, err error)
	// Person is the header in which a trusted proxy, one of Clients, names the person who
	// makes a request; empty for none. If set, a request without person and key is refused.
	Person string
	// Clients finds the address of a client; nil trusts the connection's.
	Clients *httpguard.Addresses
	// PerAddress limits the requests of one address when keys are on, and from loopback
	// addresses only those whose key is refused; nil for no limit.
	PerAddress *httpguard.Limiter
	// Turns limits the turns of one key or person; nil for no limit.
	Turns *httpguard.Limiter
	// SharedTurns does the same over all replicas: it counts a turn and returns how long to
	// wait, zero when the turn may begin. If it fails, Turns counts. Nil in a single process.
	SharedTurns func(ctx context.Context, key string) (wait time.Duration, err error)
}

// isProbe reports whether the path needs no key.
func isProbe(path string) bool { return path == "/health" || path == "/ready" }

// authenticate identifies the client of a request, and rejects one without a key. Routes check
// scopes themselves.
func (s *server) authenticate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case isProbe(r.URL.Path):
		case s.Access.on():
			if r = s.identify(w, r); r == nil {
				return
			}
		default:
			if _, refusal := s.Access.Keys.Identify(r); refusal != nil {
				s.reject(w, r, refusal)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// identify returns the request with its principal, or answers it and returns nil. It is a
// function of its own so that its frame is off the stack while the request is answered.
func (s *server) identify(w http.ResponseWriter, r *http.Request) *http.Request {
	from := s.Access.Clients.Of(r)
	local := from.IsLoopback()
	if !local && s.tooMany(w, r, httpguard.ClientName(from)) {
		return nil
	}
	if s.signIn(w, r) {
		return nil
	}
	who, ok, refusal := s.Access.person(r)
	switch {
	case ok || refusal != nil:
	case s.Access.Keys.On():
		who, refusal = s.Access.Keys.Identify(r)
	default:
		refusal = unidentified()
	}
	if refusal != nil {
		if !local || !s.tooMany(w, r, httpguard.ClientName(from)) {
			s.reject(w, r, refusal)
		}
		return nil
	}
	return r.WithContext(httpguard.WithPrincipal(r.Context(), who))
}

// tooMany counts a request of an address, and answers it if there were too many.
func (s *server) tooMany(w http.ResponseWriter, r *http.Request, client string) bool {
	refusal := s.Access.PerAddress.Refuse(client, "one address may make only so many requests")
	if refusal != nil {
		refusal.Write(w, r)
	}
	return refusal != nil
}

// reject answers a request without a valid key; a person in a browser gets instructions.
func (s *server) reject(w http.ResponseWriter, r *http.Request, refusal *httpguard.Refusal) {
	if r.Method != http.MethodGet || !strings.Contains(r.Header.Get("Accept"), "text/html") {
		refusal.Write(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("WWW-Authenticate", "Bearer")
	w.WriteHeader(refusal.Status)
	text := "You are not signed in: " + refusal.Message
	if s.Access.Keys.On() { // so a link was printed
		text = "You are not signed in. Open the link that molar serve printed at its start; " +
			"it works once and for ten minutes. Start molar serve again for a new one."
	}
	_, _ = w.Write([]byte(text + "\n")) //nolint:gosec // plain text, and sent as that
}

// scope admits a request whose key has one of the scopes, and every request while no key is
// required.
func (s *server) scope(scopes ...string) gin.HandlerFunc {
	return func(c *gin.Context) {
		if refusal := httpguard.PrincipalOf(c.Request.Context()).Need(scopes...); refusal != nil {
			c.Abort()
			refusal.Write(c.Writer, c.Request)
		}
	}
}

// limitTurns counts a turn of the request's key.
func (s *server) limitTurns(c *gin.Context) {
	if refusal := s.refuseTurn(c.Request); refusal != nil {
		c.Abort()
		refusal.Write(c.Writer, c.Request)
	}
}

func (s *server) refuseTurn(r *http.Request) *httpguard.Refusal {
	who := httpguard.PrincipalOf(r.Context())
	if who.Key == "" {
		return nil
	}
	const what = "this key may begin only so many turns a minute (limits.turns_per_minute)"
	if s.Access.SharedTurns != nil {
		wait, err := s.Access.SharedTurns(r.Context(), who.Key)
		if err == nil && wait == 0 {
			return nil
		}
		if err == nil {
			return httpguard.TooMany(wait, what)
		}
		s.Logger.Warn("turns are counted by this replica alone, as the database does not answer", "error", err)
	}
	return s.Access.Turns.Refuse(who.Key, what)
}

// admit counts a turn that came over an open connection, and checks that its key is still
// valid.
func (s *server) admit(r *http.Request) error {
	var refusal *httpguard.Refusal
	if _, ok, _ := s.Access.person(r); !ok && s.Access.Keys.On() {
		_, refusal = s.Access.Keys.Identify(r)
	}
	if refusal == nil {
		refusal = s.refuseTurn(r)
	}
	if refusal == nil {
		return nil
	}
	return &wire.Error{Status: refusal.Status, Kind: wire.TypeInvalid, Code: refusal.Code, Message: refusal.Message, RetryAfter: refusal.RetryAfter}
}

// ownerOf returns whose conversations a request may see; without keys, everybody's.
func ownerOf(r *http.Request) string { return httpguard.PrincipalOf(r.Context()).Owner }

// signIn answers a visit with a one-time token: it sets the cookie and redirects to the page,
// so that no address bar keeps the token. It reports whether it answered.
func (s *server) signIn(w http.ResponseWriter, r *http.Request) bool {
	if s.Access.SignIn == nil || r.Method != http.MethodGet || r.URL.Path != "/" || !r.URL.Query().Has("token") {
		return false
	}
	session, ok, err := s.Access.SignIn(r.Context(), r.URL.Query().Get("token"))
	switch {
	case err != nil:
		s.Logger.Error("sign in", "error", err, "request_id", wire.RequestID(w))
		wire.WriteError(w, wire.ErrInternal)
	case !ok && s.signedIn(r): // the link was opened a second time
		http.Redirect(w, r, "/", http.StatusSeeOther)
	case !ok:
		s.reject(w, r, &httpguard.Refusal{
			Status: http.StatusUnauthorized, Code: "invalid_token",
			Message: "this link was used, or is too old; start molar serve again for a new one",
		})
	default:
		http.SetCookie(w, s.sessionCookie(r, session))
		http.Redirect(w, r, "/", http.StatusSeeOther)
	}
	return true
}

func (s *server) signedIn(r *http.Request) bool {
	_, refusal := s.Access.Keys.Identify(r)
	return refusal == nil
}

// sessionLife is how long a browser keeps the cookie; the server ends an unused
// session earlier.
const sessionLife = 30 * 24 * time.Hour

func (s *server) sessionCookie(r *http.Request, session string) *http.Cookie {
	c := &http.Cookie{
		Name: httpguard.SessionCookie, Value: session, Path: "/", MaxAge: int(sessionLife / time.Second),
		HttpOnly: true, SameSite: http.SameSiteStrictMode,
	}
	if s.Access.Clients.Encrypted(r) {
		c.Name, c.Secure = httpguard.SecureSessionCookie, true
	}
	return c
}

// maxPerson is the greatest length of a person's name, in bytes.
const maxPerson = 256

// on reports whether a request has to identify its client.
func (a Access) on() bool { return a.Person != "" || a.Keys.On() }

// person returns the person that a trusted proxy names. ok is false if it names none, and if
// the client presents its own key, which then counts.
func (a Access) person(r *http.Request) (who httpguard.Principal, ok bool, refusal *httpguard.Refusal) {
	names := r.Header.Values(a.Person)
	if a.Person == "" || len(names) == 0 || r.Header.Get("Authorization") != "" || !a.Clients.FromProxy(r) {
		return who, false, nil
	}
	name := strings.TrimSpace(names[0])
	if len(names) > 1 || name == "" || len(name) > maxPerson || !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) {
		return who, false, &httpguard.Refusal{
			Status: http.StatusBadRequest, Type: "invalid_request_error", Code: "invalid_identity",
			Message: "the header " + a.Person + " does not name one person; the proxy in front must set it, and take away what clients send",
		}
	}
	id := "person:" + name
	return httpguard.Principal{Key: id, Owner: id, Name: name, Scopes: []string{httpguard.ScopeChat}}, true, nil
}

// unidentified refuses a request that names neither a person nor a key.
func unidentified() *httpguard.Refusal {
	return &httpguard.Refusal{
		Status: http.StatusUnauthorized, Type: "invalid_request_error", Code: "identity_missing",
		Message: "nobody says who makes this request: come by way of the proxy that signs people in, or send an API key",
	}
}
