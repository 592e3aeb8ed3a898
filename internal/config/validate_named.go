package config

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"molar/schemas"
)

// assistants checks the assistants and the name of the default one.
func (c *checker) assistants() {
	names := c.cfg.Assistants.Names()
	if len(names) == 0 {
		c.fault("assistants", "want at least one assistant; leave the key out for the built-in ones")
		return
	}
	if !slices.Contains(names, c.cfg.Default) {
		c.fault("default", "no assistant is called %q%s; there are: %s", c.cfg.Default, didYouMean(c.cfg.Default, names), strings.Join(names, ", "))
	}
	for _, e := range c.cfg.Assistants {
		c.assistant(join("assistants", e.Name), e.Name, e.Value)
	}
	c.unique("assistants", names)
}

func (c *checker) assistant(key, name string, a schemas.Assistant) {
	if !IsKeyName(name) {
		c.fault(key, "want a name of letters, digits, '.', '_' and '-', at most 64")
	}
	if topics := c.cfg.TopicNames(); a.Topic != "" && !slices.Contains(topics, a.Topic) {
		c.fault(key+".topic", "want %s, or leave it out for any subject%s", oneOf(topics), didYouMean(a.Topic, topics))
	}
	c.tuning(key, a.Tuning)
	if a.Flow != "" {
		c.enum(key+".flow", string(a.Flow), []string{string(schemas.FlowAgentic), string(schemas.FlowTwoPass)})
	}
	if a.DirectAnswer != nil && a.Flow != schemas.FlowTwoPass {
		c.fault(key+".direct_answer", "applies only with flow: two-pass; remove it, or set that flow")
	}
	if a.Provider != "" {
		c.enum(key+".provider", a.Provider, c.cfg.LLM.Names())
		c.hasKey(key+".provider", a.Provider)
	}
	if a.Retention != nil {
		c.retention(key+".retention", *a.Retention, "conversations")
	}
	for i, folder := range a.Skills {
		if folder == "" {
			c.fault(index(key+".skills", i), "want a folder of skills, such as ./skills")
		}
	}
	c.uniqueList(key+".skills", a.Skills)
	c.globs(key+".tools", a.Tools)
	c.searchList(key+".search", a.Search)
}

// searchList checks the names of search tools. The tools of servers are unknown until they are
// attached, so it reports only invalid names and misspelled names of bundled tools.
func (c *checker) searchList(key string, names []string) {
	bundled := c.cfg.bundledTools()
	for i, name := range names {
		if !regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`).MatchString(name) {
			c.fault(index(key, i), "want the name of a search tool, such as %s", oneOf(bundled))
			continue
		}
		if near := didYouMean(name, bundled); near != "" && !slices.Contains(bundled, name) && !slices.Contains(c.cfg.Knowledge.Names(), name) {
			c.fault(index(key, i), "no search tool is called %q%s", name, near)
		}
	}
	c.uniqueList(key, names)
}

// ReservedServers returns the names of the bundled servers, which no other server may have.
func ReservedServers() []string { return []string{schemas.MemoryServer, schemas.ToolServer} }

func (c *checker) servers() {
	for _, e := range c.cfg.MCPServers {
		c.server(join("mcpServers", e.Name), e.Name, e.Value)
	}
	c.unique("mcpServers", c.cfg.MCPServers.Names())
}

func (c *checker) server(key, name string, s Server) {
	if slices.Contains(ReservedServers(), name) {
		c.fault(key, "%q is the name of a bundled server; choose another", name)
	}
	if !regexp.MustCompile(`^[A-Za-z0-9_-]{1,32}$`).MatchString(name) {
		c.fault(key, "want a name of letters, digits, '_' and '-', at most 32")
	}
	if s.UnsetFault != "" {
		return
	}
	c.as(key, s)
	switch {
	case s.Command == "" && s.URL == "":
		c.fault(key, "want either command or url")
	case s.Command != "" && s.URL != "":
		c.fault(key, "want either command or url, not both")
	case s.Command != "":
		c.command(key, s)
	default:
		c.remote(key, s)
	}
	if s.Timeout < 0 || s.Timeout > maxToolTime {
		c.fault(key+".timeout", "want a time above 0s, at most %s", shortTime(maxToolTime))
	}
	if s.StartTimeout < 0 || s.StartTimeout > maxToolTime {
		c.fault(key+".start_timeout", "want a time above 0s, at most %s", shortTime(maxToolTime))
	}
	if _, err := time.Parse(time.DateOnly, s.Protocol); s.Protocol != "" && s.Protocol != "auto" && err != nil {
		c.fault(key+".protocol", `want an MCP revision such as "2025-11-25", or auto`)
	}
	if s.Public && s.Closed {
		c.fault(key+".closed", "cannot be combined with public: what fetches from the web reaches others; remove one of them")
	}
	c.globs(key+".includeTools", s.IncludeTools)
	c.globs(key+".excludeTools", s.ExcludeTools)
	c.rules(key+".tools", s.Tools)
}

func (c *checker) command(key string, s Server) {
	if s.Type != "" && s.Type != "stdio" {
		c.fault(key+".type", "want stdio with a command")
	}
	if len(s.Headers) > 0 {
		c.fault(key+".headers", "apply only with url")
	}
	if s.OAuth.isSet() {
		c.fault(key+".oauth", "applies only with url")
	}
	if strings.Contains(s.Command, " ") && len(s.Args) == 0 && !strings.ContainsAny(s.Command, `/\`) {
		c.fault(key+".command", "want the program alone; its arguments go into args")
	}
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.ContainsRune(s.Env[name].Reveal(), 0) {
			c.fault(join(key+".env", name), "is not a valid environment variable")
		}
	}
}

func (c *checker) remote(key string, s Server) {
	if kinds := []string{"http", "sse", "message"}; s.Type != "" && !slices.Contains(kinds, s.Type) {
		c.fault(key+".type", "want %s with a url%s", oneOf(kinds), didYouMean(s.Type, kinds))
	}
	if len(s.Args) > 0 || len(s.Env) > 0 || s.Cwd != "" {
		c.fault(key, "args, env and cwd apply only with command")
	}
	c.address(key+".url", s.URL)
	c.headers(key+".headers", s.Headers)
	if s.OAuth.isSet() {
		c.oauth(key, s)
	}
}

func (c *checker) headers(key string, headers map[string]schemas.Secret) {
	token := regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		if !token.MatchString(name) || strings.ContainsAny(headers[name].Reveal(), "\r\n\x00") {
			c.fault(join(key, name), "is not a valid HTTP header")
		}
	}
}

func (c *checker) oauth(key string, s Server) {
	if s.Type == "message" {
		c.fault(key+".oauth", "applies only with the types http and sse")
	}
	for name := range s.Headers {
		if strings.EqualFold(name, "Authorization") {
			c.fault(key+".oauth", "cannot be combined with the header Authorization; remove one of them")
		}
	}
	if s.OAuth.ClientSecret != "" && s.OAuth.ClientID == "" {
		c.fault(key+".oauth.client_secret", "applies only with client_id")
	}
	c.unattended(key+".oauth", s.OAuth)
	if s.OAuth.RedirectPort < 0 || s.OAuth.RedirectPort > 65535 {
		c.fault(key+".oauth.redirect_port", "want a port, or 0 for any")
	}
	for i, scope := range s.OAuth.Scopes {
		if scope == "" || strings.ContainsFunc(scope, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' }) {
			c.fault(index(key+".oauth.scopes", i), "want one scope, without spaces and quotes")
		}
	}
}

// unattended checks the settings of a login without a person.
func (c *checker) unattended(key string, o OAuth) {
	if grants := []string{"client_credentials"}; o.Grant != "" && !slices.Contains(grants, o.Grant) {
		c.fault(key+".grant", "want %s, or leave it out%s", oneOf(grants), didYouMean(o.Grant, grants))
	}
	withoutPerson := o.Grant != "" || o.Identity != (Identity{})
	switch {
	case withoutPerson && o.ClientID == "":
		c.fault(key+".client_id", "is needed for a login without a person")
	case o.PrivateKey != "" && o.ClientID == "":
		c.fault(key+".private_key", "applies only with client_id")
	case o.PrivateKey != "" && o.ClientSecret != "":
		c.fault(key+".private_key", "cannot be combined with client_secret; remove one of them")
	case o.Grant != "" && o.ClientSecret == "" && o.PrivateKey == "":
		c.fault(key+".grant", "needs client_secret or private_key")
	}
	if id := o.Identity; id != (Identity{}) {
		c.address(key+".identity.issuer", id.Issuer)
		if o.Grant != "" {
			c.fault(key+".grant", "cannot be combined with identity; remove one of them")
		}
		if (id.Token == "") == (id.TokenFile == "") {
			c.fault(key+".identity", "want either token or token_file")
		}
	}
}

func (c *checker) rules(key string, rules Map[ToolRule]) {
	policies := []schemas.Policy{schemas.PolicyAuto, schemas.PolicyAllow, schemas.PolicyConfirm, schemas.PolicyDeny}
	for _, e := range rules {
		if _, err := path.Match(e.Name, ""); e.Name == "" || err != nil {
			c.fault(join(key, e.Name), `want a glob such as "*" or "get_*"`)
		}
		if e.Value.Policy != "" && !slices.Contains(policies, e.Value.Policy) {
			c.fault(join(key, e.Name)+".policy", "want auto, allow, confirm or deny")
		}
		c.approvers(join(key, e.Name), e.Value)
		if e.Value.ReadOnly && e.Value.Adds {
			c.fault(join(key, e.Name)+".adds", "cannot be combined with readOnly, which says more; remove one of them")
		}
		for i, path := range e.Value.Content {
			if path == "" || strings.ContainsFunc(path, unicode.IsSpace) {
				c.fault(index(join(key, e.Name)+".content", i), `want the path of an argument, such as "body" or "message.text"`)
			}
		}
		c.uniqueList(join(key, e.Name)+".content", e.Value.Content)
		if e.Value.Timeout < 0 || e.Value.Timeout > maxToolTime {
			c.fault(join(key, e.Name)+".timeout", "want a time above 0s, at most %s", shortTime(maxToolTime))
		}
	}
	c.unique(key, rules.Names())
}

// flowAny fits every origin and every server in a rule of flows.
const flowAny = "*"

// flowOrigins returns what from may name in a rule of flows, besides servers.
func flowOrigins() []string { return []string{"file", "client", "paste", "web", flowAny} }

func (c *checker) flows() {
	servers := append(c.cfg.MCPServers.Names(), schemas.ToolServer)
	name := func(key, value string, known []string) {
		if !slices.Contains(known, value) {
			c.fault(key, "want one of %s%s", strings.Join(known, ", "), didYouMean(value, known))
		}
	}
	for i, f := range c.cfg.Flows {
		key := index("flows", i)
		name(key+".from", f.From, slices.Concat(c.cfg.MCPServers.Names(), flowOrigins()))
		name(key+".to", f.To, append(slices.Clone(servers), flowAny))
		if f.Allow == nil {
			c.fault(key+".allow", "want true or false")
		}
	}
}
