package web

import (
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/gin-gonic/gin"

	"molar/internal/httpguard"
	"molar/web/wire"
)

// Paths of signing in.
const (
	loginPath  = "/login"
	waysPath   = "/v1/signin"
	logoutPath = "/logout"
)

// open adds a route for clients that have not identified themselves.
func (s *server) open(e *gin.Engine, path string, handler gin.HandlerFunc, methods ...string) {
	for _, method := range methods {
		s.openRoutes[method+" "+path] = true
	}
	e.Match(methods, path, handler)
}

// isOpen reports whether a client that has not identified itself may make the request: it is for an open
// route, or for a file of the page for signing in.
func (s *server) isOpen(r *http.Request) bool {
	switch r.URL.Path {
	case "/static/style.css", "/static/pages.css", "/static/icon.svg", "/static/app.js", "/static/login.js":
		return r.Method == http.MethodGet || r.Method == http.MethodHead
	}
	return s.openRoutes[r.Method+" "+r.URL.Path]
}

// canSignIn reports whether the page for signing in helps a browser that is not signed in.
func (a Access) canSignIn() bool { return a.Keys.On() || a.Provider != "" }

// wantsPage reports whether a browser asks for a page.
func wantsPage(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.Contains(r.Header.Get("Accept"), "text/html")
}

// maxPath is the longest path to which somebody goes on after signing in, in bytes: it is in the cookie
// that a browser keeps meanwhile, and browsers keep at most 4 kB.
const maxPath = 2000

// localPath returns where to go after signing in: the path and query of this host, or "/" for anything
// else.
func localPath(to string) string {
	u, err := url.Parse(to)
	if err != nil || len(to) > maxPath || u.IsAbs() || u.Host != "" || u.User != nil || !strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") ||
		strings.ContainsAny(to, "\\") || strings.ContainsFunc(to, unicode.IsControl) ||
		u.Path == loginPath || strings.HasPrefix(u.Path, loginPath+"/") || u.Path == logoutPath {
		return "/"
	}
	return to
}

// loginAddress is the address of the page for signing in, which says the fault and goes on to a path.
func loginAddress(to, fault string) string {
	query := url.Values{}
	if to != "/" {
		query.Set("to", to)
	}
	if fault != "" {
		query.Set("fault", fault)
	}
	if len(query) == 0 {
		return loginPath
	}
	return loginPath + "?" + query.Encode()
}

// signInPage serves the page for signing in. A browser that is signed in goes on.
func (s *server) signInPage(c *gin.Context) {
	if !s.Access.canSignIn() || s.identified(c.Request) {
		c.Redirect(http.StatusSeeOther, localPath(c.Query("to")))
		return
	}
	// With the policy of the other pages a browser sends its form with the origin "null".
	c.Header("Referrer-Policy", "same-origin")
	s.site.Login(c)
}

// identified reports whether a request names a person, or has a session.
func (s *server) identified(r *http.Request) bool {
	_, ok, refusal := s.Access.person(r)
	return ok && refusal == nil || s.Access.Keys.On() && s.signedIn(r)
}

// A waysObject says how one can sign in.
type waysObject struct {
	Object string `json:"object"`
	// Keys is set if a key signs in.
	Keys bool `json:"keys"`
	// OIDC is set if there is an identity provider, at /login/oidc; Name is how people call it.
	OIDC bool   `json:"oidc"`
	Name string `json:"name,omitempty"`
}

// signInWays answers GET /v1/signin.
func (s *server) signInWays(c *gin.Context) {
	wire.WriteJSON(c.Writer, waysObject{
		Object: "signin", Keys: s.Access.SignInKey != nil && s.Access.Keys.On(), OIDC: s.Access.Provider != "", Name: s.Access.Provider,
	})
}

// A loginBody is the body of POST /login.
type loginBody struct {
	Key string `json:"key"`
	// To is the path to go to.
	To string `json:"to"`
}

// A loginObject is its answer to a client that sends JSON.
type loginObject struct {
	Object string `json:"object"`
	To     string `json:"to"`
}

// logIn signs a browser in with a key.
func (s *server) logIn(c *gin.Context) {
	if s.Access.SignInKey == nil || !s.Access.Keys.On() {
		s.unknownRoute(c)
		return
	}
	kind, _, _ := mime.ParseMediaType(c.GetHeader("Content-Type"))
	form := kind == "application/x-www-form-urlencoded"
	var body loginBody
	if form {
		if err := c.Request.ParseForm(); err != nil {
			wire.WriteError(c.Writer, wire.Invalid("key", "the form cannot be read"))
			return
		}
		body = loginBody{Key: c.Request.PostForm.Get("key"), To: c.Request.PostForm.Get("to")}
	} else if err := wire.ReadBody(c.Request, &body); err != nil {
		wire.WriteError(c.Writer, wire.Failure(err))
		return
	}
	to := localPath(body.To)
	session, refusal, err := s.Access.SignInKey(c.Request.Context(), strings.TrimSpace(body.Key))
	switch {
	case err != nil:
		s.Logger.Error("sign in with a key", "error", err, "request_id", wire.RequestID(c.Writer))
		wire.WriteError(c.Writer, wire.Failure(err))
	case refusal != nil:
		if from := s.Access.Clients.Of(c.Request); from.IsLoopback() && s.tooMany(c.Writer, c.Request, httpguard.ClientName(from)) {
			return
		}
		if form {
			c.Redirect(http.StatusSeeOther, loginAddress(to, refusal.Code))
			return
		}
		refusal.Write(c.Writer, c.Request)
	default:
		http.SetCookie(c.Writer, s.sessionCookie(c.Request, session))
		if form {
			c.Redirect(http.StatusSeeOther, to)
			return
		}
		wire.WriteJSON(c.Writer, loginObject{Object: "session", To: to})
	}
}

// logOut ends the session of a browser, even one that opens nothing any more. Other clients have none,
// and it answers them alike.
func (s *server) logOut(c *gin.Context) {
	for _, name := range []string{httpguard.SecureSessionCookie, httpguard.SessionCookie} {
		cookie, err := c.Request.Cookie(name)
		if err != nil {
			continue
		}
		if s.Access.SignOut != nil {
			if err := s.Access.SignOut(c.Request.Context(), cookie.Value); err != nil {
				s.storeError(c, "session", err)
				return
			}
		}
		http.SetCookie(c.Writer, &http.Cookie{ //nolint:gosec // it deletes a cookie, which over plain HTTP is not Secure
			Name: name, Path: "/", MaxAge: -1, HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: name == httpguard.SecureSessionCookie,
		})
	}
	wire.WriteJSON(c.Writer, logoutObject{Object: "session"})
}

// A logoutObject is the answer to POST /logout.
type logoutObject struct {
	Object string `json:"object"`
	// Open is always false.
	Open bool `json:"open"`
}

// signInOperations describes the routes of signing in and out for programs.
func (s *server) signInOperations() []wire.Operation {
	return []wire.Operation{
		{Method: "GET", Path: waysPath, Tag: tagSignIn, Summary: "How one can sign in: with a key, or at an identity provider", Answer: waysObject{}},
		{Method: "POST", Path: logoutPath, Tag: tagSignIn, Summary: "End the session of the request's cookie, on each replica", Answer: logoutObject{}, Errors: []int{403, 503}},
		{Method: "GET", Path: "/v1/me", Tag: tagSignIn, Summary: "Who the client is, and what it may do", Answer: meObject{}},
	}
}

const tagSignIn = "signing in"

// pageScope refuses requests for a page whose client has none of the scopes. A browser gets a page that
// says so.
func (s *server) pageScope(path string) gin.HandlerFunc {
	scopes := []string{httpguard.ScopeChat, httpguard.ScopeAdmin, httpguard.ScopeReview} // a page holds nothing of anybody
	if path == "/tools" || path == "/config" {
		scopes = []string{httpguard.ScopeAdmin}
	}
	return func(c *gin.Context) {
		refusal := httpguard.PrincipalOf(c.Request.Context()).Need(scopes...)
		if refusal == nil {
			return
		}
		c.Abort()
		if wantsPage(c.Request) {
			s.site.NotYours(c)
			return
		}
		refusal.Write(c.Writer, c.Request)
	}
}

// rejectPage answers a browser that may not have a page, and reports whether it did: it goes to the page
// for signing in, or gets one that says that none of its groups is admitted.
func (s *server) rejectPage(w http.ResponseWriter, r *http.Request, refusal *httpguard.Refusal) bool {
	switch {
	case refusal.Code == "no_group":
		s.site.NoGroup(w, r)
	case refusal.Status == http.StatusUnauthorized && s.Access.canSignIn():
		to, fault := localPath(r.URL.RequestURI()), ""
		if refusal.Code == "invalid_token" {
			to, fault = "/", refusal.Code
		}
		http.Redirect(w, r, loginAddress(to, fault), http.StatusSeeOther)
	default:
		return false
	}
	return true
}

// A meObject is who a client is and what it may do, for pages to decide what to show.
type meObject struct {
	Object string `json:"object"`
	ID     string `json:"id"`
	Name   string `json:"name"`
	// Person is set for somebody who signed in, Session for a browser that can sign out.
	Person  bool     `json:"person"`
	Session bool     `json:"session"`
	Scopes  []string `json:"scopes"`
	Groups  []string `json:"groups"`
	// Approver is set if one of the groups approves calls of some tool.
	Approver bool `json:"approver"`
	// Desk is set if the client may answer people who asked for the desk.
	Desk bool `json:"desk,omitempty"`
	// Assistants are the names of those that it may use.
	Assistants []string `json:"assistants"`
}

// getMe answers GET /v1/me.
func (s *server) getMe(c *gin.Context) { wire.WriteJSON(c.Writer, s.meOf(c.Request)) }

func (s *server) meOf(r *http.Request) meObject {
	who := httpguard.PrincipalOf(r.Context())
	me := meObject{
		Object: "me", ID: who.Owner, Name: who.Name, Person: who.Person, Session: who.Session,
		Scopes: slices.Clone(who.Scopes), Groups: append([]string{}, who.Rights.Names()...), Assistants: []string{}, Approver: s.isApprover(who),
	}
	if who.Key == "" { // no key is required
		me.Scopes = httpguard.Scopes()
	}
	me.Desk = s.Handovers != nil && who.May(httpguard.ScopeReview)
	for _, a := range s.modelsFor(r) {
		me.Assistants = append(me.Assistants, a.Name)
	}
	return me
}
