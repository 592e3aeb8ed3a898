package web

import (
	"html"
	"net/http"
)

// plainPage writes a page of two lines that loads nothing. With a next address it goes on there by itself,
// and the lines are links. A browser that comes from another site needs such a page to be known again: it
// sends the cookie of its session with what the page requests, and not with a redirect.
func plainPage(w http.ResponseWriter, status int, next, english, vietnamese string) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	refresh, begin, end := "", "", ""
	if next != "" {
		next = html.EscapeString(next)
		refresh, begin, end = `<meta http-equiv="refresh" content="0;url=`+next+`">`, `<a href="`+next+`">`, "</a>"
	}
	w.WriteHeader(status)
	_, _ = w.Write([]byte(`<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">` + refresh +
		"<title>Molar</title><main><p>" + begin + html.EscapeString(english) + end + `</p><p lang="vi">` + begin + html.EscapeString(vietnamese) + end + "</p></main></html>\n"))
}
