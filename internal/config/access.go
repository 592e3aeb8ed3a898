package config

import (
	"encoding/hex"
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"molar/schemas"
)

// An APIKey is a key that the file itself grants. One of Hash and Key is set.
type APIKey struct {
	Name string `yaml:"name" jsonschema_description:"Name of the key; its conversations belong to that name."`
	// Hash is "sha256:" and 64 hexadecimal digits.
	Hash string `yaml:"hash" jsonschema_description:"Hash of the key, as molar keys create --for-config prints it."`
	// Key is never written out in the file, only referred to.
	Key    schemas.Secret `yaml:"key" jsonschema_description:"The key itself as a reference to the environment, such as ${CI_KEY}."`
	Scopes []string       `yaml:"scopes" jsonschema:"enum=chat,enum=admin,enum=metrics,enum=host" jsonschema_description:"What the key may do: chat, admin, metrics, host (default chat)."`
}

// People holds how a reverse proxy that signs people in names them.
type People struct {
	Header string `yaml:"header" jsonschema_description:"Header in which one of trusted_proxies names the person, such as X-Forwarded-User; each person has conversations, approvals and limits of their own. The proxy must take away what clients send in it."`
}

// TLS names the files of the certificate that both ports show.
type TLS struct {
	// Cert and Key are absolute paths once loaded, or as given on the command line.
	Cert string `yaml:"cert" jsonschema_description:"PEM file of the certificate, with the intermediate ones after it."`
	Key  string `yaml:"key" jsonschema_description:"PEM file of its private key."`
}

// On reports whether the ports speak TLS.
func (t TLS) On() bool { return t.Cert != "" }

// leastKey is the length from which on a key that a person made counts as random.
const leastKey = 32

// Loopback reports whether only this machine reaches an address to listen on.
func Loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

// Proxied returns the setting by which requests of others reach a port on loopback:
// trusted_proxies, or a name in allowed_hosts that is not this machine's; "" without one.
// Then an address on loopback proves nothing, and every request needs a key, a session or
// a person whom the proxy names.
func (cfg *Config) Proxied() string {
	if len(cfg.TrustedProxies) > 0 {
		return "trusted_proxies"
	}
	for _, name := range cfg.AllowedHosts {
		if !ownName(name) {
			return fmt.Sprintf("allowed_hosts %q", name)
		}
	}
	return ""
}

// ownName reports whether a Host value always means the machine of whoever sends it.
func ownName(host string) bool {
	name := host
	if bare, _, err := net.SplitHostPort(host); err == nil {
		name = bare
	}
	name = strings.ToLower(strings.Trim(name, "[]"))
	ip, err := netip.ParseAddr(name)
	return name == "localhost" || strings.HasSuffix(name, ".localhost") || err == nil && ip.Unmap().IsLoopback()
}

// IsKeyName reports whether a key may be called that: 1 to 64 letters, digits, '.',
// '_' and '-', the first a letter or digit.
func IsKeyName(name string) bool {
	return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`).MatchString(name)
}

// KeyScopes returns the scopes that a key may have.
func KeyScopes() []string { return []string{"chat", "admin", "metrics", "host"} }

// completeAccess fills in what follows: the scope of a key without any, paths that
// are relative to the file.
func (cfg *Config) completeAccess() {
	for i := range cfg.APIKeys {
		if k := &cfg.APIKeys[i]; len(k.Scopes) == 0 {
			k.Scopes = []string{"chat"}
		}
	}
	for key, path := range map[string]*string{"tls.cert": &cfg.TLS.Cert, "tls.key": &cfg.TLS.Key, "ca_file": &cfg.CAFile} {
		if origin := cfg.origins[key]; origin != commandLine && origin != variable(key) {
			*path = cfg.beside(*path, false)
		}
	}
}

func (c *checker) access() {
	c.apiKeys()
	if (c.cfg.TLS.Cert == "") != (c.cfg.TLS.Key == "") {
		c.fault("tls", "want both cert and key, or neither")
	}
	c.identity()
	for i, proxy := range c.cfg.TrustedProxies {
		_, err := netip.ParsePrefix(proxy)
		if _, plain := netip.ParseAddr(proxy); err != nil && plain != nil {
			c.fault(index("trusted_proxies", i), `want an address or a range such as "10.0.0.0/8"`)
		}
	}
}

// identity checks that only a proxy can name a person.
func (c *checker) identity() {
	header := c.cfg.Identity.Header
	switch {
	case header == "":
	case !regexp.MustCompile(`^[A-Za-z0-9-]+$`).MatchString(header) || slices.ContainsFunc(
		[]string{"Authorization", "Cookie", "Host", "Origin", "X-Forwarded-For", "X-Forwarded-Proto"}, func(name string) bool { return strings.EqualFold(name, header) }):
		c.fault("identity.header", "want the name of a header that only the proxy sets, such as X-Forwarded-User")
	case len(c.cfg.TrustedProxies) == 0:
		c.fault("identity.header", "want trusted_proxies beside it: else everybody could name any person")
	}
}

func (c *checker) apiKeys() {
	var names []string
	for i, k := range c.cfg.APIKeys {
		key := index("api_keys", i)
		if !IsKeyName(k.Name) {
			c.fault(key+".name", "want a name of letters, digits, '.', '_' and '-', at most 64")
		}
		if slices.Contains(names, k.Name) {
			c.fault(key+".name", "%q is defined twice", k.Name)
		}
		names = append(names, k.Name)
		digits, ok := strings.CutPrefix(k.Hash, "sha256:")
		sum, err := hex.DecodeString(digits)
		switch {
		case (k.Hash == "") == (k.Key == ""):
			c.fault(key, `want either hash: "sha256:…" or key: ${NAME}`)
		case k.Hash != "" && (!ok || err != nil || len(sum) != 32):
			c.fault(key+".hash", `want "sha256:" and 64 hexadecimal digits, as molar keys create --for-config prints it`)
		case k.Key != "" && len(k.Key.Reveal()) < leastKey:
			c.fault(key+".key", "want a key of at least %d characters; molar keys create --for-config makes one", leastKey)
		}
		for j, scope := range k.Scopes {
			c.enum(index(key+".scopes", j), scope, KeyScopes())
		}
	}
}

// Reachable is an address of this machine under which a listener on address answers.
func Reachable(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = "127.0.0.1" // "::" takes IPv4 too
	}
	return net.JoinHostPort(host, port)
}
