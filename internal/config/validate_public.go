package config

import (
	"net/url"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"molar/schemas"
)

// minKeep is the shortest time for which conversations of visitors are kept.
const minKeep = time.Minute

// public checks the assistant for everybody.
func (c *checker) public() {
	p := c.cfg.Public
	if !p.On() {
		if !reflect.DeepEqual(p, defaultPublic()) {
			c.fault("public.assistant", "nothing is public without it: name the assistant, or remove public")
		}
		return
	}
	if names := c.cfg.Assistants.Names(); !slices.Contains(names, p.Assistant) {
		c.fault("public.assistant", "no assistant is called %q%s; there are: %s", p.Assistant, didYouMean(p.Assistant, names), strings.Join(names, ", "))
	}
	if !c.cfg.TLS.On() && len(c.cfg.TrustedProxies) == 0 {
		c.fault("public", "requires tls, or the proxy with the certificate in trusted_proxies: what visitors write must not be readable on the way")
	}
	if c.cfg.Memory.URL != "" {
		c.fault("public", "cannot be combined with memory.url: what visitors wrote is erased in the host's own database; set memory.store instead")
	}
	c.publicOrigins(p.Origins)
	for name, texts := range map[string]Texts{"public.title": p.Title, "public.notice": p.Notice} {
		c.texts(name, texts)
	}
	if p.Consent && len(p.Notice) == 0 {
		c.fault("public.consent", "requires notice: visitors agree to what they can read")
	}
	if p.Privacy != "" {
		c.address("public.privacy", p.Privacy)
	}
	if p.Colour != "" && !regexp.MustCompile(`^#[0-9a-fA-F]{6}$`).MatchString(p.Colour) {
		c.fault("public.colour", `want a colour such as "#0b6e4f", in quotes`)
	}
	if ext := strings.ToLower(filepath.Ext(p.Mark)); p.Mark != "" && ext != ".svg" && ext != ".png" {
		c.fault("public.mark", "want an SVG or PNG file, such as ./mark.svg")
	}
	if p.Keep < minKeep {
		c.fault("public.keep", `want a minute or more, such as "24h"`)
	}
	c.visitorTools()
}

// publicOrigins checks the origins that may show the frame.
func (c *checker) publicOrigins(origins []string) {
	if len(origins) == 0 {
		c.fault("public.origins", "want the origin of the web site that shows the assistant, such as https://www.clinic.example")
	}
	for i, origin := range origins {
		u, err := url.Parse(origin)
		plain := err == nil && u.Scheme == "http" && isLocalName(u.Host)
		if err != nil || u.Scheme != "https" && !plain || origin != u.Scheme+"://"+u.Host || !regexp.MustCompile(`^[a-z0-9.-]+(:[0-9]+)?$|^\[[0-9a-f:]+\](:[0-9]+)?$`).MatchString(u.Host) {
			c.fault(index("public.origins", i), "want https:// and the host of a page alone, such as https://www.clinic.example (http only for this machine; letters such as é as xn--…)")
		}
	}
	c.uniqueList("public.origins", origins)
}

// texts checks texts by language.
func (c *checker) texts(key string, texts Texts) {
	c.languages(key, texts.Names())
	for _, e := range texts {
		if strings.TrimSpace(e.Value) == "" {
			c.fault(join(key, e.Name), "want a text")
		}
	}
}

// handover checks how visitors reach the desk.
func (c *checker) handover() {
	h := c.cfg.Handover
	if reflect.DeepEqual(h, defaultHandover()) {
		return
	}
	c.webhook("handover", h.Webhook, h.Secret, false)
	switch {
	case !h.On() && h.Secret == "":
		c.fault("handover.webhook", "nobody can be reached without it: set webhook and secret, or remove handover")
	case !c.cfg.Public.On():
		c.fault("handover", "applies only with public: visitors are handed over")
	}
	if h.Hours == "" && h.Zone != "" {
		c.fault("handover.zone", "applies only with hours")
	}
	if _, err := h.Opening(); err != nil {
		c.fault("handover.hours", "%v", err)
	}
	for i, name := range h.Ask {
		c.enum(index("handover.ask", i), name, []string{AskName, AskPhone, AskEmail})
	}
	c.uniqueList("handover.ask", h.Ask)
	c.texts("handover.fallback", h.Fallback)
}

// visitorTools reports the tools of which the file itself says that they write, where visitors could cause
// them to. The host withholds the others that are not readers when it sees them.
func (c *checker) visitorTools() {
	assistant, _ := c.cfg.Assistants.Get(c.cfg.Public.Assistant)
	for _, server := range c.cfg.MCPServers {
		for _, rule := range server.Value.Tools {
			tool := strings.NewReplacer("*", "x", "?", "x").Replace(rule.Name) // one of those that it is for
			applies, _ := server.Value.Rule(tool)
			if server.Value.Disabled || !schemas.MatchGlobs(assistant.Tools, server.Name+"__"+tool, tool) {
				continue
			}
			writes := applies.Adds || applies.Destructive != nil && !applies.ReadOnly
			if asks := len(applies.Approvers) > 0; writes && !asks && (applies.Policy == "" || applies.Policy == schemas.PolicyAuto) {
				c.fault(join(join(join("mcpServers", server.Name), "tools"), rule.Name), "visitors of public could write with it, without a question to anybody: say policy: allow if they may, policy: deny, or take it out of assistants.%s.tools", c.cfg.Public.Assistant)
			}
		}
	}
}
