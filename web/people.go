package web

import (
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"molar/internal/httpguard"
)

// maxPerson is how long the name of a person may be, in bytes.
const maxPerson = 256

// on reports whether a request has to say who makes it.
func (a Access) on() bool { return a.Person != "" || a.Keys.On() }

// person returns who makes a request by the word of a trusted proxy. ok is false where none
// says so, and where the client shows a key of its own, which then counts.
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

// nobody refuses a request that names neither a person nor a key.
func nobody() *httpguard.Refusal {
	return &httpguard.Refusal{
		Status: http.StatusUnauthorized, Type: "invalid_request_error", Code: "identity_missing",
		Message: "nobody says who makes this request: come by way of the proxy that signs people in, or send an API key",
	}
}
