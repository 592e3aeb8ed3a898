package web

import (
	"html"
	"net/http"
)

// plainPage writes a page of two lines, without files of its own. If there is a next address, it goes on
// by itself, and the lines are links. A browser that comes from another site does so to get its session:
// it sends the cookie with what this page begins, and not with a redirect.
func plainPage(w http.ResponseWriter, status int, next, english, vietnamese string) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	refresh, begin, end := "", "", ""
	if next != "" {
		next = html.EscapeString(next)
		refresh, begin, end = `<meta http-equiv="refresh" content="0;url=`+next+`">`, `<a href="`+next+`">`, "</a>"
	}
	w.WriteHeader(status)
	_, _ = w.Write([]byte(`<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">` + refresh +
		"<title>Molar</title><main><p>" + begin + html.EscapeString(english) + end + `</p><p lang="vi">` + begin + html.EscapeString(vietnamese) + end + "</p></main></html>\n"))
}
