package config

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"molar/schemas"
)

// An APIKey is a key defined in the config file. Either Hash or Key is set.
type APIKey struct {
	Name string `yaml:"name" jsonschema_description:"Name of the key, which owns its conversations."`
	// Hash is "sha256:" and 64 hexadecimal digits.
	Hash string `yaml:"hash" jsonschema_description:"Hash of the key, as molar keys create --for-config prints it."`
	// Key is a reference in the file, never the key itself.
	Key    schemas.Secret `yaml:"key" jsonschema_description:"The key itself as a reference to the environment, such as ${CI_KEY}."`
	Scopes []string       `yaml:"scopes" jsonschema:"enum=chat,enum=admin,enum=metrics,enum=review,enum=host" jsonschema_description:"What the key may do: chat, admin, metrics, review, host (default chat)."`
	// Previous is the text that the key had before, during its rotation.
	Previous PreviousKey `yaml:"previous" jsonschema_description:"The key before its rotation, which works beside the new one for a while, as molar keys rotate --for-config prints it."`
	// Groups empty means no limit but the scopes.
	Groups []string `yaml:"groups" jsonschema_description:"Groups whose rights limit the key: their assistants, their tools, and of the scopes those that they have (default: no limit but the scopes)."`
	// Input, System and Ask are empty for the defaults.
	Input  string `yaml:"input" jsonschema:"enum=typed,enum=data" jsonschema_description:"data: the messages of this key are what others wrote, such as a webhook's, so they give no orders; typed (default): a person typed them."`
	System string `yaml:"system" jsonschema:"enum=trusted,enum=client" jsonschema_description:"trusted: the operator answers for the system texts that this key sends; client (default): they are the client's."`
	Ask    string `yaml:"ask" jsonschema:"enum=person,enum=never" jsonschema_description:"never: nobody is behind this key, so a call that would ask is denied, and the answer says so; person (default): somebody answers."`
}

// ID returns the id of the key: it, and so its conversations, stay the same when its text changes.
func (k APIKey) ID() string { return "cfg_" + k.Name }

// Manner returns what the key's settings say about who is behind it.
func (k APIKey) Manner() schemas.KeyManner {
	return schemas.KeyManner{Input: k.Input, System: k.System, Ask: k.Ask}
}

// ProxyIdentity configures who signs people in: a reverse proxy that passes on their names, or an identity
// provider.
type ProxyIdentity struct {
	Header string `yaml:"header" jsonschema_description:"Header in which one of trusted_proxies names the person, such as X-Forwarded-User; each person has separate conversations, approvals and limits. The proxy must remove this header from the requests of clients."`
	// GroupsHeader may come several times, and its values may be lists with commas.
	GroupsHeader string `yaml:"groups_header" jsonschema_description:"Header in which the same proxy names the person's groups, separated by commas, such as X-Forwarded-Groups. The proxy must remove it from the requests of clients too."`
	OIDC         OIDC   `yaml:"oidc" jsonschema_description:"Identity provider at which people sign in with OpenID Connect."`
}

// TLS names the files of the certificate of both ports.
type TLS struct {
	// Cert and Key are absolute after loading if they come from the config file.
	Cert string `yaml:"cert" jsonschema_description:"PEM file of the certificate, with the intermediate ones after it."`
	Key  string `yaml:"key" jsonschema_description:"PEM file of its private key."`
}

// On reports whether the ports use TLS.
func (t TLS) On() bool { return t.Cert != "" }

// maxGroup is the length of the longest name of a group, in bytes.
const maxGroup = 128

// minKeyLength is the length of the shortest valid API key, in bytes.
const minKeyLength = 32

// Loopback reports whether an address to listen on can be reached only from this machine.
func Loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

// SignsIn reports whether people are signed in by a proxy or at an identity provider.
func (p ProxyIdentity) SignsIn() bool { return p.Header != "" || p.OIDC.On() }

// ProxySetting returns the setting that indicates that a proxy forwards requests of other machines
// to loopback: trusted_proxies, or a name in allowed_hosts that is not a local one. It returns ""
// if there is none; public_url names such a host too. With a proxy, a client address on loopback proves nothing, and every request
// needs a key, a session or a person whom the proxy names.
func (cfg *Config) ProxySetting() string {
	if len(cfg.TrustedProxies) > 0 {
		return "trusted_proxies"
	}
	for _, name := range cfg.AllowedHosts {
		if !isLocalName(name) {
			return fmt.Sprintf("allowed_hosts %q", name)
		}
	}
	if u, err := url.Parse(cfg.PublicURL); err == nil && u.Host != "" && !isLocalName(u.Host) {
		return "public_url"
	}
	return ""
}

// Hosts returns the values of the Host header that the port with the pages accepts beside its own address.
func (cfg *Config) Hosts() []string {
	u, err := url.Parse(cfg.PublicURL)
	if err != nil || u.Host == "" {
		return cfg.AllowedHosts
	}
	return append(slices.Clone(cfg.AllowedHosts), u.Host)
}

// Address returns the origin under which people reach a host that listens on an address, such as
// "https://assistant.example.com".
func (cfg *Config) Address(listen string) string {
	if cfg.PublicURL != "" {
		return cfg.PublicURL
	}
	return cfg.Scheme() + "://" + LocalAddress(listen)
}

// Scheme returns the scheme of the ports' addresses.
func (cfg *Config) Scheme() string {
	if cfg.TLS.On() {
		return "https"
	}
	return "http"
}

// publicURL checks the address under which people reach the host.
func (c *checker) publicURL() {
	if c.cfg.PublicURL == "" {
		return
	}
	c.encrypted("public_url", c.cfg.PublicURL)
	if u, err := url.Parse(c.cfg.PublicURL); err == nil && u.Path != "" {
		c.fault("public_url", "want only scheme, host and port: the pages are at its root")
	}
}

// isLocalName reports whether a Host value always means the machine of the client.
func isLocalName(host string) bool {
	name := host
	if bare, _, err := net.SplitHostPort(host); err == nil {
		name = bare
	}
	name = strings.ToLower(strings.Trim(name, "[]"))
	ip, err := netip.ParseAddr(name)
	return name == "localhost" || strings.HasSuffix(name, ".localhost") || err == nil && ip.Unmap().IsLoopback()
}

// IsKeyName reports whether name is valid for a key: 1 to 64 letters, digits, '.', '_' and '-', the
// first of them a letter or digit.
func IsKeyName(name string) bool {
	return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`).MatchString(name)
}

// KeyScopes returns the scopes that a key may have.
func KeyScopes() []string { return []string{"chat", "admin", "metrics", "review", "host"} }

// GroupScopes returns the scopes that a group may have.
func GroupScopes() []string { return []string{"chat", "admin", "metrics", "review"} }

// completeAccess sets the default scope of keys without scopes, and resolves the paths of the
// config file.
func (cfg *Config) completeAccess() {
	for i := range cfg.APIKeys {
		if k := &cfg.APIKeys[i]; len(k.Scopes) == 0 {
			k.Scopes = []string{"chat"}
		}
	}
	cfg.PublicURL = strings.TrimSuffix(cfg.PublicURL, "/")
	cfg.Identity.OIDC.complete()
	cfg.completePublic()
	for i := range cfg.Groups {
		g := &cfg.Groups[i]
		if g.Value.Name = g.Name; len(g.Value.Scopes) == 0 {
			g.Value.Scopes = []string{"chat"}
		}
	}
	for key, path := range map[string]*string{"tls.cert": &cfg.TLS.Cert, "tls.key": &cfg.TLS.Key, "ca_file": &cfg.CAFile} {
		if origin := cfg.origins[key]; origin != commandLine && origin != EnvVariable(key) {
			*path = cfg.resolvePath(*path, false)
		}
	}
}

func (c *checker) access() {
	c.apiKeys()
	if (c.cfg.TLS.Cert == "") != (c.cfg.TLS.Key == "") {
		c.fault("tls", "want both cert and key, or neither")
	}
	c.identity()
	c.oidc()
	c.groups()
	c.webhook("approvals", c.cfg.Approvals.Webhook, c.cfg.Approvals.Secret, true)
	c.public()
	c.handover()
	c.budgets()
	for i, proxy := range c.cfg.TrustedProxies {
		_, err := netip.ParsePrefix(proxy)
		if _, plain := netip.ParseAddr(proxy); err != nil && plain != nil {
			c.fault(index("trusted_proxies", i), `want an address or a range such as "10.0.0.0/8"`)
		}
	}
}

// identity checks the header of the proxy. Without trusted proxies, every client could name any
// person.
func (c *checker) identity() {
	id := c.cfg.Identity
	for key, header := range map[string]string{"identity.header": id.Header, "identity.groups_header": id.GroupsHeader} {
		switch {
		case header == "":
		case !regexp.MustCompile(`^[A-Za-z0-9-]+$`).MatchString(header) || slices.ContainsFunc(
			[]string{"Authorization", "Cookie", "Host", "Origin", "X-Forwarded-For", "X-Forwarded-Proto"}, func(name string) bool { return strings.EqualFold(name, header) }):
			c.fault(key, "want the name of a header that only the proxy sets, such as X-Forwarded-User")
		case len(c.cfg.TrustedProxies) == 0:
			c.fault(key, "requires trusted_proxies: without it every client could name any person")
		}
	}
	if id.GroupsHeader != "" && (id.Header == "" || strings.EqualFold(id.GroupsHeader, id.Header)) {
		c.fault("identity.groups_header", "names the groups of the person in identity.header, which must be another header")
	}
}

// groups checks the groups, and that somebody can be in one.
func (c *checker) groups() {
	for _, e := range c.cfg.Groups {
		key := join("groups", e.Name)
		if e.Name == "" || len(e.Name) > maxGroup || strings.ContainsFunc(e.Name, unicode.IsControl) {
			c.fault(key, "want the group's name at the identity provider, at most %d bytes", maxGroup)
		}
		for i, scope := range e.Value.Scopes {
			c.enum(index(key+".scopes", i), scope, GroupScopes())
		}
		c.groupGlobs(key+".assistants", e.Value.Assistants)
		c.groupGlobs(key+".tools", e.Value.Tools)
	}
	c.unique("groups", c.cfg.Groups.Names())
}

// groupGlobs checks a group's globs: a list that only excludes would allow nothing.
func (c *checker) groupGlobs(key string, globs []string) {
	c.globs(key, globs)
	if len(globs) > 0 && !slices.ContainsFunc(globs, func(g string) bool { return !strings.HasPrefix(g, "!") }) {
		c.fault(key, `allows nothing, because it only excludes; begin it with "*"`)
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
		c.keyText(key, k.Hash, k.Key)
		c.rotation(key, k)
		for _, s := range k.Manner().Settings() {
			c.enum(key+"."+s.Name, s.Value, s.Allowed)
		}
		for j, scope := range k.Scopes {
			c.enum(index(key+".scopes", j), scope, KeyScopes())
		}
	}
}

// LocalAddress returns an address through which this machine reaches a listener on address.
func LocalAddress(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = "127.0.0.1" // a listener on "::" accepts IPv4 too
	}
	return net.JoinHostPort(host, port)
}
