package web

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"molar/agent"
	"molar/internal/httpguard"
	"molar/schemas"
	"molar/web/public"
	"molar/web/turns"
	"molar/web/wire"
)

// Access decides which clients may use the port. The zero Access admits every client to every
// route, unless its request came through a proxy.
type Access struct {
	// Keys are the keys of clients. Nil, or a ring that requires none, admits every client whose
	// request did not come through a proxy.
	Keys *httpguard.Keyring
	// SignIn exchanges a one-time token for the value of a session cookie. ok is false for a
	// token that is unknown, used or too old. Nil disables sign-in.
	SignIn func(ctx context.Context, token string) (session string, ok bool, err error)
	// SignInKey exchanges a key for the value of a session cookie, or refuses it. Nil disables it.
	SignInKey func(ctx context.Context, key string) (session string, refusal *httpguard.Refusal, err error)
	// Reread reads the sessions again for one that is unknown, as at a replica where it did not begin.
	Reread func(ctx context.Context) error
	// SignOut ends a session by the value of its cookie; an unknown one is no error.
	SignOut func(ctx context.Context, session string) error
	// Provider is how people call the identity provider at which they sign in; empty if there is none.
	Provider string
	// OIDC signs people in at that provider; nil if there is none.
	OIDC OIDC
	// PublicURL is the origin under which people reach this host; empty means the Host of the request.
	PublicURL string
	// GroupsOf returns the groups that a person had when they made their last request; known is false
	// for somebody who never made one.
	GroupsOf func(ctx context.Context, owner string) (groups []string, known bool, err error)
	// See notes a person whom the proxy names; nil notes nobody.
	See func(schemas.Caller)
	// Person is the header in which a trusted proxy, one of Clients, names the person who makes a
	// request; empty means that there is none. If it is set, a request with neither a person nor
	// a key is refused.
	Person string
	// Groups is the header in which the same proxy names the person's groups, separated by commas.
	Groups string
	// Rights returns what the groups of a person allow, nil without limit; ok is false if none of them
	// admits. Nil admits everybody without limit.
	Rights func(groups []string) (rights *schemas.Rights, ok bool)
	// Clients determines the address of a client; nil means the address of the connection.
	Clients *httpguard.Addresses
	// PerAddress limits the requests of one address while clients have to identify themselves.
	// From a loopback address only refused requests count. Nil means no limit.
	PerAddress *httpguard.Limiter
	// Turns limits the turns of one key or person; nil means no limit.
	Turns *httpguard.Limiter
	// SharedTurns is the same limit over all replicas: it counts a turn and returns the time to
	// wait, zero if the turn may begin. If it fails, Turns is used. It is nil for a single
	// process.
	SharedTurns func(ctx context.Context, key string) (wait time.Duration, err error)
}

// personPrefix begins the owner of what a person has whom a proxy names.
const personPrefix = "person:"

// isProbe reports whether the path needs no key.
func isProbe(path string) bool { return path == "/health" || path == "/ready" }

// authenticate identifies the client of a request, and rejects one without a key. Routes check
// scopes themselves.
func (s *server) authenticate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case isProbe(r.URL.Path):
		case s.isForVisitors(r):
			if from := s.Access.Clients.Of(r); !from.IsLoopback() && s.tooMany(w, r, httpguard.ClientName(from)) {
				return
			}
		case s.Access.on():
			if r = s.identify(w, r); r == nil {
				return
			}
			if !wire.IsUpgrade(r) { // a WebSocket binds each of its answers
				bound, end := s.bind(r)
				defer end()
				r = bound
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

// bind ends what a request still does when its session or key ends: it must not show more to somebody
// whose access has ended.
func (s *server) bind(r *http.Request) (bound *http.Request, end context.CancelFunc) {
	ctx, end := s.Access.Keys.Bind(r.Context(), httpguard.PrincipalOf(r.Context()))
	return r.WithContext(ctx), end
}

// identify returns the request with its principal, or answers it and returns nil. It is a separate
// function so that its frame is not on the stack while the request is answered.
func (s *server) identify(w http.ResponseWriter, r *http.Request) *http.Request {
	if s.Access.encrypted(r) {
		r = withoutPlainSession(r)
	}
	from := s.Access.Clients.Of(r)
	local := from.IsLoopback()
	if !local && s.tooMany(w, r, httpguard.ClientName(from)) {
		return nil
	}
	if s.signIn(w, r) {
		return nil
	}
	if s.isOpen(r) {
		return r
	}
	who, refusal := s.Access.who(r)
	if refusal != nil {
		if !local || !s.tooMany(w, r, httpguard.ClientName(from)) {
			s.reject(w, r, refusal)
		}
		return nil
	}
	return r.WithContext(httpguard.WithPrincipal(r.Context(), who))
}

// tooMany counts a request of an address, and refuses it if there were too many. It reports whether
// it refused it.
func (s *server) tooMany(w http.ResponseWriter, r *http.Request, client string) bool {
	refusal := s.Access.PerAddress.Refuse(client, "one address may make only so many requests")
	if refusal != nil {
		refusal.Write(w, r)
	}
	return refusal != nil
}

// reject answers a request without a valid key. A browser is sent to the page for signing in, or gets
// instructions as plain text where that does not help.
func (s *server) reject(w http.ResponseWriter, r *http.Request, refusal *httpguard.Refusal) {
	if s.public != nil && public.Presents(r) { // for visitors nothing else exists
		refusal = &httpguard.Refusal{Status: http.StatusNotFound, Code: "unknown_route", Message: "this path is unknown"}
		refusal.Write(w, r)
		return
	}
	if !wantsPage(r) {
		refusal.Write(w, r)
		return
	}
	if s.rejectPage(w, r, refusal) {
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("WWW-Authenticate", "Bearer")
	w.WriteHeader(refusal.Status)
	_, _ = w.Write([]byte("You are not signed in: " + refusal.Message + "\n")) //nolint:gosec // plain text, and sent as that
}

// scope returns a handler that refuses requests whose key has none of the scopes. While no key is
// required, it refuses none.
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
	const message = "this key may begin only so many turns a minute (limits.turns_per_minute)"
	if s.Access.SharedTurns != nil {
		wait, err := s.Access.SharedTurns(r.Context(), who.Key)
		if err == nil && wait == 0 {
			return nil
		}
		if err == nil {
			return httpguard.TooMany(wait, message)
		}
		s.Logger.Warn("turns are counted by this replica alone, because the database does not answer", "error", err)
	}
	return s.Access.Turns.Refuse(who.Key, message)
}

// admit counts a turn that was requested over an open WebSocket, and checks that the key of the
// connection is still valid.
func (s *server) admit(r *http.Request) error {
	var refusal *httpguard.Refusal
	if s.Access.on() {
		_, refusal = s.Access.who(r)
	}
	if refusal == nil {
		refusal = s.refuseTurn(r)
	}
	if refusal == nil {
		return nil
	}
	return &wire.Error{Status: refusal.Status, Kind: wire.TypeInvalid, Code: refusal.Code, Message: refusal.Message, RetryAfter: refusal.RetryAfter}
}

// ownerOf returns the owner whose conversations a request may see; without keys "", which means
// all.
func ownerOf(r *http.Request) string { return httpguard.PrincipalOf(r.Context()).Owner }

// setOrigins sets whose words the texts of a request's turn are.
func (s *server) setOrigins(r *http.Request, t *agent.Turn) {
	turns.SetOrigins(t, httpguard.PrincipalOf(r.Context()), s.Access.on())
}

// signIn answers a request with a one-time token in its address: it sets the session cookie and
// redirects to the page, so that the token does not stay in the address bar. It reports whether it
// answered.
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

// sessionLife is how long a browser keeps the cookie. The server ends an unused session earlier.
const sessionLife = 30 * 24 * time.Hour

func (s *server) sessionCookie(r *http.Request, session string) *http.Cookie {
	c := &http.Cookie{
		Name: httpguard.SessionCookie, Value: session, Path: "/", MaxAge: int(sessionLife / time.Second),
		HttpOnly: true, SameSite: http.SameSiteStrictMode,
	}
	if s.Access.encrypted(r) {
		c.Name, c.Secure = httpguard.SecureSessionCookie, true
	}
	return c
}

// encrypted reports whether the connection of a client is encrypted, as far as known: here, before a
// trusted proxy, or before whatever stands at the public address.
func (a Access) encrypted(r *http.Request) bool {
	host, public := strings.CutPrefix(a.PublicURL, "https://")
	return a.Clients.Encrypted(r) || public && strings.EqualFold(r.Host, host)
}

// withoutPlainSession returns a request without the cookie that a session has only where nothing is
// encrypted. Elsewhere another host of the same site may have set it.
func withoutPlainSession(r *http.Request) *http.Request {
	cookies := r.Cookies()
	if !slices.ContainsFunc(cookies, func(c *http.Cookie) bool { return c.Name == httpguard.SessionCookie }) {
		return r
	}
	r = r.Clone(r.Context())
	r.Header.Del("Cookie")
	for _, c := range cookies {
		if c.Name != httpguard.SessionCookie {
			r.AddCookie(c)
		}
	}
	return r
}

// maxPerson is the maximum length of a person's name, in bytes.
const maxPerson = 256

// on reports whether clients have to identify themselves.
func (a Access) on() bool { return a.Person != "" || a.Keys.On() }

// person returns the person that a trusted proxy names. ok is false if it names none, and if the
// client presents a key, which takes precedence.
func (a Access) person(r *http.Request) (who httpguard.Principal, ok bool, refusal *httpguard.Refusal) {
	names := r.Header.Values(a.Person)
	if a.Person == "" || len(names) == 0 || r.Header.Get("Authorization") != "" || !a.Clients.FromProxy(r) {
		return who, false, nil
	}
	name := strings.TrimSpace(names[0])
	if len(names) > 1 || name == "" || len(name) > maxPerson || !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) {
		return who, false, &httpguard.Refusal{
			Status: http.StatusBadRequest, Type: "invalid_request_error", Code: "invalid_identity",
			Message: "the header " + a.Person + " does not name one person; the proxy in front must set it, and remove it from the requests of clients",
		}
	}
	named := schemas.Caller{ID: personPrefix + name, Name: name, Groups: groupsIn(r.Header.Values(a.Groups))}
	who, refusal = a.admit(named)
	if refusal == nil && a.See != nil {
		a.See(named)
	}
	return who, refusal == nil, refusal
}

// groupsIn returns the names in the values of a header.
func groupsIn(values []string) []string {
	var groups []string
	for _, list := range values {
		for name := range strings.SplitSeq(list, ",") {
			if name = strings.TrimSpace(name); name != "" {
				groups = append(groups, name)
			}
		}
	}
	return groups
}

// admit returns the principal of a person, or refuses one none of whose groups is admitted.
func (a Access) admit(c schemas.Caller) (httpguard.Principal, *httpguard.Refusal) {
	var rights *schemas.Rights
	if a.Rights != nil {
		var ok bool
		if rights, ok = a.Rights(c.Groups); !ok {
			return httpguard.Principal{}, httpguard.NoGroup()
		}
	}
	return httpguard.Principal{Key: c.ID, Owner: c.ID, Name: c.Name, Person: true, Rights: rights, Scopes: rights.Scopes()}, nil
}

// unidentified refuses a request that names neither a person nor a key.
func unidentified() *httpguard.Refusal {
	return &httpguard.Refusal{
		Status: http.StatusUnauthorized, Type: "invalid_request_error", Code: "identity_missing",
		Message: "this request identifies neither a person nor a key: use the proxy that signs people in, or send an API key",
	}
}
