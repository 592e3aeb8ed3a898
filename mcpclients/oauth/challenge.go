package oauth

import (
	"net/http"
	"regexp"
	"strings"
)

// A Challenge is a server's authentication challenge (RFC 6750, RFC 9728).
type Challenge struct {
	// Bearer is set if the server named the scheme.
	Bearer bool
	// Metadata is the URL of the server's metadata; it may be empty.
	Metadata string
	// Scopes are the scopes that the request needs; it may be empty.
	Scopes []string
	// Error is the code, such as invalid_token or insufficient_scope.
	Error string
}

// maxChallenge bounds how much of the header is read, in bytes.
const maxChallenge = 8 << 10

// challengeItem matches a scheme, its token68, or a parameter with a token or a quoted string (RFC 9110, 11.2).
func challengeItem() *regexp.Regexp {
	return regexp.MustCompile("(?s)([!#$%&'*+.^_`|~0-9A-Za-z-]+)" + `([ \t]*=[ \t]*("(?:[^"\\]|\\.)*"|[^", \t][^, \t]*)?)?`)
}

// ParseChallenge reads the Bearer challenge of WWW-Authenticate headers and skips what it cannot
// parse.
func ParseChallenge(h http.Header) Challenge {
	var c Challenge
	text := strings.Join(h.Values("WWW-Authenticate"), ", ")
	bearer := false
	for _, item := range challengeItem().FindAllStringSubmatch(text[:min(len(text), maxChallenge)], -1) {
		switch name, isParam, value := item[1], item[2] != "", item[3]; {
		case !isParam:
			bearer = strings.EqualFold(name, "Bearer")
			c.Bearer = c.Bearer || bearer
		case bearer:
			c.set(strings.ToLower(name), unquote(value))
		}
	}
	return c
}

func unquote(value string) string {
	if !strings.HasPrefix(value, `"`) {
		return value
	}
	return regexp.MustCompile(`(?s)\\(.)`).ReplaceAllString(value[1:len(value)-1], "$1")
}

func (c *Challenge) set(name, value string) {
	switch name {
	case "resource_metadata":
		c.Metadata = value
	case "scope":
		c.Scopes = scopesOf(value)
	case "error":
		c.Error = value
	}
}

// maxScopes bounds the scopes kept from a server.
const maxScopes = 100

// scopesOf splits a list of scopes and skips invalid ones (RFC 6749, 3.3).
func scopesOf(text string) []string {
	var scopes []string
	for scope := range strings.FieldsSeq(text) {
		if isScope(scope) && len(scopes) < maxScopes {
			scopes = append(scopes, scope)
		}
	}
	return scopes
}

// isScope reports whether a text is one valid scope of at most 200 bytes.
func isScope(text string) bool {
	return text != "" && len(text) <= 200 && !strings.ContainsFunc(text, func(r rune) bool {
		return r <= ' ' || r > '~' || r == '"' || r == '\\'
	})
}
