package oidc

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/coreos/go-oidc/v3/oidc"
)

// Limits of what a provider says of a person.
const (
	maxSubject, maxName = 255, 256
	maxGroups           = 1000
)

// claims are what a token says.
type claims map[string]any

// have reports whether the token has all of the claims.
func (c claims) have(names ...string) bool {
	for _, name := range names {
		if _, ok := c[name]; !ok {
			return false
		}
	}
	return true
}

func (c claims) text(name string) string {
	text, _ := c[name].(string)
	if !isLine(text, maxName) {
		return ""
	}
	return strings.TrimSpace(text)
}

// isLine reports whether a text is one line, without characters that databases and headers refuse.
func isLine(text string, longest int) bool {
	return len(text) <= longest && utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl)
}

// groups returns the names in a claim, which is a list or one name.
func (c claims) groups(claim string) ([]string, error) {
	var names []any
	switch found := c[claim].(type) {
	case nil:
		elsewhere, _ := c["_claim_names"].(map[string]any)
		if _, ok := elsewhere[claim]; ok {
			return nil, fmt.Errorf("%w: the token leaves out the groups because there are too many: let the identity provider send only the groups of this client, "+
				"or name another claim in identity.oidc.groups", ErrRefused)
		}
	case string:
		names = []any{found}
	case []any:
		names = found
	default:
		return nil, fmt.Errorf("%w: the claim %q of the token is no list of names; name another one in identity.oidc.groups", ErrRefused, claim)
	}
	if len(names) > maxGroups {
		return nil, fmt.Errorf("%w: the token names more than %d groups; let the identity provider send only those of this client", ErrRefused, maxGroups)
	}
	var groups []string
	for _, name := range names {
		if text, ok := name.(string); ok && text != "" && isLine(text, maxName) { // no group here has another name
			groups = append(groups, text)
		}
	}
	return groups, nil
}

// person reads whom a valid token names.
func (p *Provider) person(token *oidc.IDToken, c claims) (Person, error) {
	if token.Subject == "" || !isLine(token.Subject, maxSubject) {
		return Person{}, fmt.Errorf("%w: the token names nobody", ErrRefused)
	}
	groups, err := c.groups(p.cfg.Groups)
	if err != nil {
		return Person{}, err
	}
	name := token.Subject
	for _, claim := range []string{p.cfg.Name, "preferred_username", "email"} {
		if text := c.text(claim); text != "" {
			name = text
			break
		}
	}
	at := token.IssuedAt
	if now := p.cfg.Now(); at.IsZero() || at.Unix() <= 0 || at.After(now) {
		at = now
	}
	return Person{
		Issuer: p.cfg.Issuer, Subject: token.Subject, Name: name, Email: c.text("email"), Groups: groups, Session: c.text("sid"), At: at, Until: token.Expiry,
	}, nil
}
