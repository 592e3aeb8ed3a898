package public

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"molar/internal/httpguard"
	"molar/schemas"
	"molar/web/wire"
)

const (
	// Cookie is the cookie that a visitor's browser keeps for each site that shows the frame.
	Cookie = "__Host-molar_visitor"
	// Header is the header in which the frame sends the same value where browsers keep no cookies of frames.
	Header = "X-Molar-Visitor"
	// tokenBytes is the size of a visitor's random number.
	tokenBytes = 32
	// consentSize is the length of a hash of what visitors agree to, in characters.
	consentSize = 16
)

// A visitor is who makes a request. The value that the browser presents is the token, or with a point
// and the hash of the notice to which the visitor agreed behind it.
type visitor struct {
	token, owner, consent string
	// cookie is set if the browser keeps the value itself.
	cookie bool
}

func (v visitor) conversation() string { return schemas.VisitorConversation(v.owner) }

// Presents reports whether a request presents the token of a visitor.
func Presents(r *http.Request) bool {
	_, ok := visitorOf(r)
	return ok
}

// visitorOf returns the visitor of a request.
func visitorOf(r *http.Request) (visitor, bool) {
	if values := r.Header.Values(Header); len(values) > 0 {
		if len(values) > 1 {
			return visitor{}, false
		}
		return parse(values[0])
	}
	for _, c := range r.CookiesNamed(Cookie) {
		if v, ok := parse(c.Value); ok {
			v.cookie = true
			return v, true
		}
	}
	return visitor{}, false
}

func parse(value string) (visitor, bool) {
	token, consent, _ := strings.Cut(value, ".")
	raw, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(raw) != tokenBytes || consent != "" && len(consent) != consentSize {
		return visitor{}, false
	}
	return visitor{token: token, owner: schemas.VisitorOwner(token), consent: consent}, true
}

// own passes the visitor of a request; without one there is nothing.
func (s *Surface) own(f func(c *gin.Context, v visitor)) gin.HandlerFunc {
	return func(c *gin.Context) {
		v, ok := visitorOf(c.Request)
		if !ok {
			s.fail(c, &failure{Status: http.StatusUnauthorized, Code: "no_visitor"})
			return
		}
		c.Request.Body = http.MaxBytesReader(c.Writer, c.Request.Body, maxBody)
		f(c, v)
	}
}

type visitRequest struct {
	// Storage is set if a cookie did not come back.
	Storage bool `json:"storage"`
}

type visitAnswer struct {
	// Token is what the frame keeps and sends, if it asked for that.
	Token string `json:"token,omitempty"`
}

// visit answers POST /embed/visit: it makes a visitor of a browser that is none yet.
func (s *Surface) visit(c *gin.Context) {
	c.Request.Body = http.MaxBytesReader(c.Writer, c.Request.Body, maxBody)
	var body visitRequest
	if !s.read(c, &body) {
		return
	}
	if v, ok := visitorOf(c.Request); ok && v.cookie == !body.Storage {
		wire.WriteJSON(c.Writer, visitAnswer{}) // it has one already
		return
	}
	raw := make([]byte, tokenBytes)
	_, _ = rand.Read(raw) // it never fails
	token := base64.RawURLEncoding.EncodeToString(raw)
	if body.Storage {
		wire.WriteJSON(c.Writer, visitAnswer{token})
		return
	}
	s.keep(c, token)
	wire.WriteJSON(c.Writer, visitAnswer{})
}

// keep lets the browser keep a value for this site alone, as long as the conversation is kept.
func (s *Surface) keep(c *gin.Context, value string) {
	http.SetCookie(c.Writer, &http.Cookie{ //nolint:gosec // a frame is part of another site: SameSite=None, in the partition of that site
		Name: Cookie, Value: value, Path: "/", MaxAge: int(s.Keep / time.Second),
		Secure: true, HttpOnly: true, SameSite: http.SameSiteNoneMode, Partitioned: true,
	})
}

// consentOf returns the hash of what a visitor agrees to, in all languages.
func consentOf(cfg Config) string {
	sum := sha256.New()
	for _, lang := range slices.Sorted(maps.Keys(cfg.Notice)) {
		sum.Write([]byte(lang + "\x00" + cfg.Notice[lang] + "\x00"))
	}
	sum.Write([]byte(cfg.Privacy))
	return hex.EncodeToString(sum.Sum(nil))[:consentSize]
}

// addressName returns the name under which the questions of a request's address are counted. It does not
// give the address away.
func (s *Surface) addressName(r *http.Request) string {
	mac := hmac.New(sha256.New, s.Secret)
	mac.Write([]byte(httpguard.ClientName(s.Clients.Of(r))))
	return "address:" + hex.EncodeToString(mac.Sum(nil)[:16])
}
