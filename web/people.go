package web

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"molar/agent"
	"molar/internal/httpguard"
	"molar/schemas"
	"molar/web/wire"
)

// OIDC signs people in at an identity provider.
type OIDC interface {
	// Begin returns the address at which somebody signs in, and what their browser keeps meanwhile.
	// The provider sends them back to the address redirect, and to is where they go then.
	Begin(ctx context.Context, redirect, to string) (address, kept string, err error)
	// Finish returns the value of the session cookie of who came back with an answer, and the path
	// where they go, or refuses them.
	Finish(ctx context.Context, kept string, answer url.Values) (session, to string, refusal *httpguard.Refusal, err error)
	// Bearer returns the person whom a token of the provider names, or refuses it.
	Bearer(ctx context.Context, text string) (schemas.Caller, *httpguard.Refusal)
	// LogOut ends the sessions that the provider ends with a logout token, or refuses it.
	LogOut(ctx context.Context, token string) (*httpguard.Refusal, error)
	// Fault returns why the provider does not answer; nil if it does.
	Fault() error
}

// Paths of signing in at an identity provider.
const (
	beginPath    = "/login/oidc"
	callbackPath = "/login/callback"
	// backChannelPath is where the provider says whose sessions end.
	backChannelPath = "/login/backchannel"
)

// oidcPrefix begins the owner of what a person has who signed in at an identity provider.
const oidcPrefix = "oidc:"

// Names of the cookie that a browser keeps while its person signs in, without and with TLS. It comes
// along when the provider sends the browser back, as the cookie of a session does not.
const (
	attemptCookieName   = "molar_signin"
	secureAttemptCookie = "__Host-molar_signin"
	attemptSeconds      = 600
)

// routeSignIn adds the routes of signing in at an identity provider.
func (s *server) routeSignIn(e *gin.Engine) {
	if s.Access.OIDC == nil {
		return
	}
	s.open(e, beginPath, s.beginSignIn, http.MethodGet)
	s.open(e, callbackPath, s.finishSignIn, http.MethodGet)
	s.open(e, backChannelPath, s.endAtProvider, http.MethodPost)
}

// attemptCookie returns the cookie of an attempt; an empty value deletes it.
func (s *server) attemptCookie(r *http.Request, value string) *http.Cookie {
	c := &http.Cookie{Name: attemptCookieName, Value: value, Path: "/", MaxAge: attemptSeconds, HttpOnly: true, SameSite: http.SameSiteLaxMode}
	if s.Access.encrypted(r) {
		c.Name, c.Secure = secureAttemptCookie, true
	}
	if value == "" {
		c.MaxAge = -1
	}
	return c
}

// addressOf returns the address at which the browser of a request reaches this host. The guard has
// checked the Host.
func (s *server) addressOf(r *http.Request) string {
	if s.Access.PublicURL != "" {
		return s.Access.PublicURL
	}
	scheme := "http"
	if s.Access.encrypted(r) {
		scheme = "https"
	}
	return scheme + "://" + r.Host
}

// beginSignIn sends a browser to the identity provider.
func (s *server) beginSignIn(c *gin.Context) {
	to := localPath(c.Query("to"))
	address, kept, err := s.Access.OIDC.Begin(c.Request.Context(), s.addressOf(c.Request)+callbackPath, to)
	if err != nil {
		s.Logger.Warn("sign in", "error", err, "request_id", wire.RequestID(c.Writer))
		s.notSignedIn(c, to, "unavailable", &httpguard.Refusal{
			Status: http.StatusServiceUnavailable, Type: "server_error", Code: "identity_unavailable",
			Message: "the identity provider does not answer, so nobody can sign in at this moment",
		})
		return
	}
	http.SetCookie(c.Writer, s.attemptCookie(c.Request, kept))
	c.Redirect(http.StatusSeeOther, address)
}

// finishSignIn signs in the person whom the provider sent back.
func (s *server) finishSignIn(c *gin.Context) {
	kept := ""
	if cookie, err := c.Request.Cookie(s.attemptCookie(c.Request, "").Name); err == nil {
		kept = cookie.Value
	}
	http.SetCookie(c.Writer, s.attemptCookie(c.Request, ""))
	session, to, refusal, err := s.Access.OIDC.Finish(c.Request.Context(), kept, c.Request.URL.Query())
	to = localPath(to)
	switch {
	case err != nil:
		s.Logger.Error("sign in", "error", err, "request_id", wire.RequestID(c.Writer))
		wire.WriteError(c.Writer, wire.Failure(err))
	case refusal != nil && refusal.Code == "no_group" && wantsPage(c.Request):
		s.site.NoGroup(c.Writer, c.Request)
	case refusal != nil:
		s.Logger.Warn("somebody was not signed in", "why", refusal.Message, "request_id", wire.RequestID(c.Writer))
		fault := "failed"
		if refusal.Status == http.StatusServiceUnavailable {
			fault = "unavailable"
		}
		s.notSignedIn(c, to, fault, refusal)
	default:
		http.SetCookie(c.Writer, s.sessionCookie(c.Request, session))
		plainPage(c.Writer, http.StatusOK, to, "Go on", "Tiếp tục")
	}
}

// endAtProvider ends the sessions that the provider ends with the logout token of its form.
func (s *server) endAtProvider(c *gin.Context) {
	refusal, err := s.Access.OIDC.LogOut(c.Request.Context(), c.PostForm("logout_token"))
	switch {
	case err != nil:
		s.storeError(c, "session", err)
	case refusal != nil:
		s.Logger.Warn("a logout token of the identity provider was refused", "why", refusal.Message, "request_id", wire.RequestID(c.Writer))
		refusal.Write(c.Writer, c.Request)
	default:
		wire.WriteJSON(c.Writer, logoutObject{Object: "session"})
	}
}

// notSignedIn answers a browser with the page for signing in, which says the fault, and other clients
// with the refusal.
func (s *server) notSignedIn(c *gin.Context, to, fault string, refusal *httpguard.Refusal) {
	if wantsPage(c.Request) {
		c.Redirect(http.StatusSeeOther, loginAddress(to, fault))
		return
	}
	refusal.Write(c.Writer, c.Request)
}

// bearer returns the person whom a token of the identity provider names. before is why the request's
// key opens nothing; the text of a key never goes to the provider.
func (a Access) bearer(r *http.Request, before *httpguard.Refusal) (httpguard.Principal, *httpguard.Refusal) {
	scheme, text, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if text = strings.TrimSpace(text); a.OIDC == nil || !strings.EqualFold(scheme, "Bearer") || text == "" || strings.HasPrefix(text, "mk_") {
		return httpguard.Principal{}, before
	}
	who, refusal := a.OIDC.Bearer(r.Context(), text)
	if refusal != nil {
		return httpguard.Principal{}, refusal
	}
	return a.admit(who)
}

// who returns the client of a request: whom a proxy names, else whose key, session or token it carries.
func (a Access) who(r *http.Request) (who httpguard.Principal, refusal *httpguard.Refusal) {
	who, ok, refusal := a.person(r)
	switch {
	case ok || refusal != nil:
		return who, refusal
	case !a.Keys.On():
		return who, unidentified()
	}
	if who, refusal = a.Keys.Identify(r); refusal != nil && a.Reread != nil && httpguard.PresentsSession(r) && a.Reread(r.Context()) == nil {
		who, refusal = a.Keys.Identify(r)
	}
	if refusal != nil {
		return a.bearer(r, refusal)
	}
	return who, nil
}

// rightsOf returns what an owner may do now, though they make no request; ok is false if nobody may make
// one for that owner any more.
func (a Access) rightsOf(ctx context.Context, owner string) (rights *schemas.Rights, ok bool, err error) {
	signsIn := a.OIDC != nil && strings.HasPrefix(owner, oidcPrefix)
	if !signsIn && (a.Person == "" || !strings.HasPrefix(owner, personPrefix)) {
		rights, ok = a.Keys.RightsOf(owner)
		return rights, ok, nil
	}
	var groups []string
	known := !signsIn // a proxy signs in whom it likes
	if a.GroupsOf != nil {
		var found bool
		if groups, found, err = a.GroupsOf(ctx, owner); err != nil {
			return nil, false, err
		}
		known = known || found
	}
	if !known || a.Rights == nil {
		return nil, known, nil
	}
	rights, ok = a.Rights(groups)
	return rights, ok, nil
}

// mayGoOn returns why a turn of a process that is gone must not be continued: nobody may ask for its
// owner any more, or for its model. Else it sets what its owner may do now.
func (s *server) mayGoOn(ctx context.Context, t *agent.Turn) error {
	if t.Visitor || schemas.IsVisitor(t.Owner) {
		return s.visitorMayGoOn(t)
	}
	const limit = 5 * time.Second
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	rights, ok, err := s.Access.rightsOf(ctx, t.Owner)
	if err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("%w: its client may make no request any more", agent.ErrNotContinued)
	}
	t.Rights = rights
	for _, model := range []string{t.Model, t.GuardrailModel} {
		if model != "" && !s.mayChoose(t.Assistant, t.Provider, model) {
			return fmt.Errorf("%w: its client may no longer choose the model %q", agent.ErrNotContinued, model)
		}
	}
	return nil
}
