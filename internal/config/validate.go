package config

import (
	"net"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"molar/providers"
)

// maxToolTime is the longest time limit of a tool call.
const maxToolTime = 30 * time.Minute

// Validate returns all faults of the settings as one error, each with its key path and, if known,
// the place that set the key.
func (cfg *Config) Validate() error { return cfg.faults().Join() }

func (cfg *Config) faults() faults {
	c := &checker{cfg: cfg}
	c.listen("listen", c.cfg.Listen)
	c.listen("mcp.listen", c.cfg.MCP.Listen)
	if c.cfg.Metrics.Listen != "" {
		c.listen("metrics.listen", c.cfg.Metrics.Listen)
	}
	c.publicURL()
	c.allowedHosts()
	if c.cfg.Memory.URL != "" {
		c.address(keyMemoryURL, c.cfg.Memory.URL)
	}
	c.llm()
	c.assistants()
	c.topics()
	c.knowledge()
	c.convert()
	c.corrections()
	c.search()
	c.limits()
	c.telemetry()
	c.shutdown()
	c.access()
	c.servers()
	c.logins()
	c.flows()
	return c.bad
}

// originOf returns the place that set a key, or the nearest key above it.
func (cfg *Config) originOf(key string) string {
	for key != "" {
		if origin := cfg.origins[key]; origin != "" {
			return origin
		}
		key = key[:max(0, strings.LastIndexAny(key, ".["))]
	}
	return ""
}

// A checker collects the faults of one config.
type checker struct {
	cfg *Config
	bad faults
}

func (c *checker) fault(key, format string, args ...any) {
	c.bad.Add(c.cfg.originOf(key), key, format, args...)
}

// listen checks the form of an address. The commands check that an address off loopback is
// protected by an API key, because most keys are in the store.
func (c *checker) listen(key, address string) {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		c.fault(key, `want host:port such as "127.0.0.1:8000"`)
		return
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		c.fault(key, "want a port from 0 to 65535")
	}
}

func (c *checker) allowedHosts() {
	for i, host := range c.cfg.AllowedHosts {
		if host == "" || strings.ContainsAny(host, "/*@ ") {
			c.fault(index("allowed_hosts", i), `want a host name, with a port if it has one, such as "molar.local:8000"`)
		}
	}
}

func (c *checker) search() {
	ddg := c.cfg.Search.DuckDuckGo
	if ddg.BaseURL != "" {
		c.address("search.duckduckgo.base_url", ddg.BaseURL)
	}
	if ddg.Region != "" && !regexp.MustCompile(`^[a-z]{2}-[a-z]{2}$`).MatchString(ddg.Region) {
		c.fault("search.duckduckgo.region", `want a region such as "vn-vi" or "us-en"`)
	}
	c.positive("search.duckduckgo.timeout", ddg.Timeout, 10*time.Minute)
}

// maxTools is the number of tools that model services accept in a request.
const maxTools = 128

func (c *checker) limits() {
	l, m := c.cfg.Limits, c.cfg.Memory
	for _, n := range []struct {
		key   string
		value int
		least int
	}{
		{"limits.rounds", l.Rounds, 1},
		{"limits.calls", l.Calls, 1},
		{"limits.parallel", l.Parallel, 1},
		{"limits.summaries", l.Summaries, 1},
		{"limits.result_tokens", l.ResultTokens, 1},
		{"limits.messages", l.Messages, 1},
		{"limits.tools", l.Tools, 1},
		{"limits.tool_tokens", l.ToolTokens, 0},
		{"limits.turns_in_flight", l.TurnsInFlight, 0},
		{"limits.turns_per_minute", l.TurnsPerMinute, 0},
		{"memory.keep_recent_messages", m.KeepRecentMessages, 0},
		{"memory.context", m.Context, 0},
		{"memory.summarize_threshold", m.SummarizeThreshold, 0},
	} {
		if n.value < n.least {
			c.fault(n.key, "want %d or more", n.least)
		}
	}
	c.retention("memory.retention", m.Retention, "conversations")
	c.retention("audit.retention", c.cfg.Audit.Retention, "the audit")
	c.positive("limits.tool_time", l.ToolTime, 24*time.Hour)
	if l.Tools > maxTools {
		c.fault("limits.tools", "want at most %d: model services accept no more", maxTools)
	}
	if l.Body < 1<<10 {
		c.fault("limits.body", "want 1KiB or more")
	}
	if rate := c.cfg.MCP.Rate; rate != nil && *rate < 0 {
		c.fault("mcp.rate", "want 0 or more")
	}
	if l.AttachWait != nil && *l.AttachWait < 0 {
		c.fault("limits.attach_wait", "want a time that is not negative")
	}
}

// retention checks how long something is kept.
func (c *checker) retention(key string, d time.Duration, what string) {
	if d < 0 || d > 0 && d < time.Hour {
		c.fault(key, `want an hour or more, such as "90d"; 0s keeps %s for ever`, what)
	}
}

func (c *checker) telemetry() {
	t := c.cfg.Telemetry
	if t.LogLevel != "" {
		c.enum("telemetry.log_level", t.LogLevel, []string{"debug", "info", "warn", "error"})
	}
	c.enum("telemetry.log_format", t.LogFormat, []string{"text", "json"})
	c.enum("telemetry.trace", t.Trace, []string{"on", "off"})
	if r := t.TraceRetention; r < 0 || r > 0 && r < time.Hour {
		c.fault("telemetry.trace_retention", `want an hour or more, such as "30d"; 0s keeps traces for a week`)
	}
	switch {
	case t.Wire < 0 || t.Wire > 0 && t.Wire < time.Hour:
		c.fault("telemetry.wire", `want an hour or more, such as "7d"; 0s keeps none`)
	case t.Wire > 0 && t.Trace == "off":
		c.fault("telemetry.wire", "wire traffic is stored with traces: switch telemetry.trace on")
	}
}

func (c *checker) shutdown() {
	for key, d := range map[string]time.Duration{"shutdown.delay": c.cfg.Shutdown.Delay, "shutdown.drain": c.cfg.Shutdown.Drain} {
		if d < 0 {
			c.fault(key, "want a time that is not negative")
		}
	}
}

func (c *checker) enum(key, value string, allowed []string) {
	if !slices.Contains(allowed, value) {
		c.fault(key, "want %s%s", oneOf(allowed), didYouMean(value, allowed))
	}
}

func (c *checker) required(key, value string) {
	if strings.TrimSpace(value) == "" {
		c.fault(key, "want a value; leave the key out for the default")
	}
}

func (c *checker) positive(key string, d, most time.Duration) {
	if d <= 0 || d > most {
		c.fault(key, "want a time above 0s, at most %s", shortTime(most))
	}
}

// address checks an http(s) address. Its faults do not quote the address, which may contain a
// secret.
func (c *checker) address(key, text string) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https"):
		c.fault(key, "want an address that starts with http:// or https://")
	case u.User != nil:
		c.fault(key, "want an address without a user and password; send them as a header")
	}
}

// encrypted checks an address of which somebody on the way could make another person of somebody. It may
// be plain on this machine only.
func (c *checker) encrypted(key, text string) {
	c.address(key, text)
	u, err := url.Parse(text)
	if err != nil {
		return
	}
	if u.Scheme == "http" && !Loopback(net.JoinHostPort(u.Hostname(), "0")) {
		c.fault(key, "want an address that starts with https://")
	}
	if u.RawQuery != "" || u.Fragment != "" {
		c.fault(key, "want an address without ? and #")
	}
}

func (c *checker) globs(key string, globs []string) {
	for i, glob := range globs {
		if _, err := path.Match(glob, ""); glob == "" || err != nil {
			c.fault(index(key, i), `want a glob such as "*" or "get_*"`)
		}
	}
	c.uniqueList(key, globs)
}

// unique reports names that a mapping contains twice. The YAML parser reports equal keys itself,
// but not the same key in two notations.
func (c *checker) unique(key string, names []string) {
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			c.fault(join(key, name), "is defined twice")
		}
	}
}

func (c *checker) uniqueList(key string, items []string) {
	for i, item := range items {
		if slices.Contains(items[:i], item) {
			c.fault(index(key, i), "%q is listed twice", item)
		}
	}
}

func index(key string, i int) string { return key + "[" + strconv.Itoa(i) + "]" }

// shortTime writes 30m0s as 30m and 24h0m0s as 24h.
func shortTime(d time.Duration) string {
	text := d.String()
	if rest, ok := strings.CutSuffix(text, "m0s"); ok {
		text = rest + "m"
	}
	if rest, ok := strings.CutSuffix(text, "h0m"); ok {
		text = rest + "h"
	}
	return text
}

func oneOf(names []string) string {
	return providers.List(names, "or")
}
