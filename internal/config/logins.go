package config

import (
	"slices"
	"strings"

	"molar/internal/sealed"
	"molar/schemas"
)

// Logins configures the logins of people at servers with as: person.
type Logins struct {
	// Keys are references in the file, never the keys themselves.
	Keys []schemas.Secret `yaml:"keys" jsonschema_description:"Keys that encrypt the logins, as references such as ${LOGIN_KEY}: 32 bytes in base64 or hex, made with openssl rand -base64 32. The first encrypts and each decrypts, so a new one comes first until the old one is removed."`
}

// The values of a server's as.
const (
	AsPerson = "person"
	AsHost   = "host"
)

// personValues are the references of headers that stand for a person.
func personValues() []string { return []string{"person.id", "person.name", "person.groups"} }

// isPersonHeader reports whether a key is a header of a server, where personValues are kept for later.
func isPersonHeader(key string) bool {
	_, rest, ok := strings.Cut(key, "mcpServers.")
	return ok && strings.Contains(rest, ".headers.")
}

// logins checks the logins of people.
func (c *checker) logins() {
	for i, key := range c.cfg.Logins.Keys {
		if _, err := sealed.Key(key.Reveal()); err != nil {
			c.fault(index("logins.keys", i), "%v", err)
		}
	}
}

// as checks who the host is to a server.
func (c *checker) as(key string, s Server) {
	if kinds := []string{AsPerson, AsHost}; s.As != "" && !slices.Contains(kinds, s.As) {
		c.fault(key+".as", "want %s%s", oneOf(kinds), didYouMean(s.As, kinds))
	}
	authorized := false
	for name, value := range s.Headers {
		authorized = authorized || strings.EqualFold(name, "Authorization")
		if s.As != AsPerson && strings.Contains(value.Reveal(), "${person.") {
			c.fault(join(key+".headers", name), "${person.…} applies only with as: person, where a request is one person's")
		}
	}
	if s.As != AsPerson {
		return
	}
	switch {
	case s.URL == "" || s.Type != "" && s.Type != "http":
		c.fault(key+".as", "person applies only with url and the type http: other servers do not tell people apart")
	case s.OAuth.Grant != "" || s.OAuth.Identity != (Identity{}):
		c.fault(key+".as", "person cannot be combined with a login of the host; remove oauth.grant and oauth.identity")
	case !authorized && len(c.cfg.Logins.Keys) == 0 && !s.Disabled:
		c.fault(key+".as", "person keeps each person's login encrypted: set logins.keys to [\"${LOGIN_KEY}\"], and that variable to a key made with: openssl rand -base64 32")
	}
}
