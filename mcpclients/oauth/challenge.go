package oauth

import (
	"net/http"
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

// ParseChallenge reads the Bearer challenge of WWW-Authenticate headers and skips what it cannot
// parse.
func ParseChallenge(h http.Header) Challenge {
	var c Challenge
	text := strings.Join(h.Values("WWW-Authenticate"), ", ")
	text = text[:min(len(text), maxChallenge)]
	bearer := false
	for text = strings.TrimLeft(text, " \t,"); text != ""; text = strings.TrimLeft(text, " \t,") {
		word := tokenOf(text)
		rest := strings.TrimLeft(text[len(word):], " \t")
		switch {
		case word == "":
			text = text[1:]
		case strings.HasPrefix(rest, "=") && !strings.HasPrefix(rest, "=="):
			var value string
			value, text = valueOf(strings.TrimLeft(rest[1:], " \t"))
			if bearer {
				c.set(strings.ToLower(word), value)
			}
		default: // a scheme, or its token68
			if text = rest; strings.EqualFold(word, "Bearer") {
				bearer, c.Bearer = true, true
			} else if !strings.HasPrefix(rest, "=") {
				bearer = false
			}
		}
	}
	return c
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

// tokenOf returns the token at the start of text.
func tokenOf(text string) string {
	end := strings.IndexFunc(text, func(r rune) bool {
		return r <= ' ' || r > '~' || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	})
	if end < 0 {
		return text
	}
	return text[:end]
}

// valueOf returns the token or quoted string at the start of text, and the rest.
func valueOf(text string) (value, rest string) {
	if !strings.HasPrefix(text, `"`) {
		end := strings.IndexAny(text, ", \t")
		if end < 0 {
			end = len(text)
		}
		return text[:end], text[end:]
	}
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '"':
			return b.String(), text[i+1:]
		case '\\':
			if i++; i < len(text) {
				b.WriteByte(text[i])
			}
		default:
			b.WriteByte(text[i])
		}
	}
	return "", "" // the quote is not closed
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
