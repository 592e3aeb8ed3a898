package pages

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"

	"github.com/gin-gonic/gin"
)

// pictureHost matches a host, with an optional port, that a policy may name.
var pictureHost = regexp.MustCompile(`^[A-Za-z0-9.-]{1,253}(:[0-9]{1,5})?$`)

// picturePage is a page with one picture, whose escaped address is its argument.
const picturePage = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Picture</title><link rel="stylesheet" href="/static/picture.css"><img src="%s" alt="">`

// Picture serves a page that shows one picture of another host, for a frame of the chat page. The
// policy of this page allows that host, so that the policy of the chat page does not have to.
func (s *Site) Picture(c *gin.Context) {
	address, err := url.Parse(c.Query("of"))
	if err != nil || address.Scheme != "https" && address.Scheme != "http" || !pictureHost.MatchString(address.Host) {
		s.missing(c)
		return
	}
	h := c.Writer.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'self'; frame-ancestors 'self'; img-src "+address.Scheme+"://"+address.Host)
	h.Set("X-Frame-Options", "SAMEORIGIN")
	h.Set("Content-Type", "text/html; charset=utf-8")
	c.Writer.WriteHeader(http.StatusOK)
	_, _ = fmt.Fprintf(c.Writer, picturePage, html.EscapeString(address.String())) // the error means that the client has disconnected
}
