package web

import (
	"context"
	"net/http"
	"net/url"

	"github.com/gin-gonic/gin"

	"molar/internal/httpguard"
	"molar/schemas"
	"molar/web/turns"
	"molar/web/wire"
)

// LoginStore is the logins of people at servers that each person calls as themselves.
type LoginStore interface {
	List(ctx context.Context, who schemas.Caller) ([]schemas.PersonLogin, error)
	// Begin returns the address at which the person logs in, and what their browser keeps meanwhile.
	// They come back to the address redirect, and to is where they go then.
	Begin(ctx context.Context, who schemas.Caller, server, redirect, to string) (address, kept string, err error)
	// Finish takes what the browser kept and the query that it came back with.
	Finish(ctx context.Context, who schemas.Caller, kept string, query url.Values) (server, to string, err error)
	// End reports whether there was a login.
	End(ctx context.Context, who schemas.Caller, server string) (bool, error)
}

// loginCookie holds the login in progress, sealed.
const loginCookie = "molar_login"

// loginBackPath is where an authorization server sends a browser back.
const loginBackPath = "/oauth/callback"

// routeLogins adds the routes of people's logins. Nobody is identified at loginBackPath: a browser
// that comes from another site does not send its session there. The page that it gets goes on to
// /oauth/finish, and there it does.
func (s *server) routeLogins(e *gin.Engine, chat gin.HandlerFunc) {
	if s.Logins == nil {
		return
	}
	e.GET("/v1/logins", chat, s.listLogins)
	e.GET("/v1/logins/:server/begin", chat, s.beginLogin)
	e.DELETE("/v1/logins/:server", chat, s.endLogin)
	s.open(e, loginBackPath, s.loginCameBack, http.MethodGet)
	e.GET("/oauth/finish", chat, s.finishLogin)
}

// caller returns the person who makes a request. A key without a person behind it is nobody.
func (s *server) caller(c *gin.Context) (schemas.Caller, bool) {
	who := turns.CallerOf(httpguard.PrincipalOf(c.Request.Context()))
	if who.ID == "" {
		wire.WriteError(c.Writer, &wire.Error{Status: http.StatusForbidden, Kind: wire.TypeInvalid, Code: "no_person", Message: "no person is behind this key, so it has no logins"})
	}
	return who, who.ID != ""
}

func (s *server) listLogins(c *gin.Context) {
	who, ok := s.caller(c)
	if !ok {
		return
	}
	all, err := s.Logins.List(c.Request.Context(), who)
	if err != nil {
		s.storeError(c, "logins", err)
		return
	}
	wire.WriteJSON(c.Writer, listOf(all))
}

func (s *server) beginLogin(c *gin.Context) {
	who, ok := s.caller(c)
	if !ok {
		return
	}
	to := c.Query("to")
	if to != "" {
		to = localPath(to)
	}
	address, kept, err := s.Logins.Begin(c.Request.Context(), who, c.Param("server"), s.addressOf(c.Request)+loginBackPath, to)
	if err != nil {
		s.Logger.WarnContext(c.Request.Context(), "a person's login could not begin", "server", c.Param("server"), "error", err)
		plainPage(c.Writer, http.StatusBadGateway, "", "This login cannot begin. Whoever runs this assistant finds the reason in its log.",
			"Không bắt đầu được việc đăng nhập này. Người vận hành trợ lý xem lý do trong nhật ký.")
		return
	}
	http.SetCookie(c.Writer, s.cookieForLogin(c.Request, kept, 600))
	c.Header("Cache-Control", "no-store")
	c.Header("Referrer-Policy", "no-referrer")
	c.Redirect(http.StatusSeeOther, address)
}

func (s *server) cookieForLogin(r *http.Request, kept string, age int) *http.Cookie {
	return &http.Cookie{Name: loginCookie, Value: kept, Path: "/oauth/", MaxAge: age, HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: s.Access.encrypted(r)} //nolint:gosec // a host on loopback has no TLS
}

// loginCameBack sends the browser on from this site, so that it sends its session.
func (s *server) loginCameBack(c *gin.Context) {
	kept := url.Values{}
	for _, name := range []string{"state", "code", "iss", "error", "error_description"} {
		if value := c.Query(name); value != "" {
			kept.Set(name, value)
		}
	}
	plainPage(c.Writer, http.StatusOK, "/oauth/finish?"+kept.Encode(), "One moment …", "Một chút …")
}

func (s *server) finishLogin(c *gin.Context) {
	who, ok := s.caller(c)
	if !ok {
		return
	}
	cookie, err := c.Request.Cookie(loginCookie)
	if err != nil {
		cookie = &http.Cookie{}
	}
	http.SetCookie(c.Writer, s.cookieForLogin(c.Request, "", -1))
	server, to, err := s.Logins.Finish(c.Request.Context(), who, cookie.Value, c.Request.URL.Query())
	if err != nil {
		s.Logger.WarnContext(c.Request.Context(), "a person's login was not finished", "error", err)
		plainPage(c.Writer, http.StatusBadRequest, "", "You are not connected: this is no answer to a login that you began here, or it was refused. Begin it again.",
			"Chưa kết nối: đây không phải trả lời cho lần đăng nhập bạn đã bắt đầu ở đây, hoặc đã bị từ chối. Hãy bắt đầu lại.")
		return
	}
	if to != "" {
		c.Redirect(http.StatusSeeOther, to)
		return
	}
	plainPage(c.Writer, http.StatusOK, "", "You are connected to "+server+". You can close this page.", "Đã kết nối với "+server+". Bạn có thể đóng trang này.")
}

func (s *server) endLogin(c *gin.Context) {
	who, ok := s.caller(c)
	if !ok {
		return
	}
	ended, err := s.Logins.End(c.Request.Context(), who, c.Param("server"))
	switch {
	case err != nil:
		s.storeError(c, "login", err)
	case !ended:
		wire.WriteError(c.Writer, wire.NotFound("login"))
	default:
		wire.WriteJSON(c.Writer, changedObject{ID: c.Param("server"), Object: "login", Deleted: true})
	}
}

// loginOperations describes the routes of people's logins for programs.
func (s *server) loginOperations() []wire.Operation {
	if s.Logins == nil {
		return nil
	}
	return []wire.Operation{
		{Method: "GET", Path: "/v1/logins", Tag: tagAccount, Scope: "chat", Summary: "List the servers that one calls as oneself, and one's logins there. A browser begins one at /v1/logins/{server}/begin", Answer: list[schemas.PersonLogin]{}, Errors: []int{403, 503}},
		{Method: "DELETE", Path: "/v1/logins/{server}", Tag: tagAccount, Scope: "chat", Summary: "End one's login at a server, on each replica, and revoke it there", Answer: changedObject{}, Errors: []int{403, 404, 503}},
	}
}
