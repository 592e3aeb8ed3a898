package config

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"time"
)

// server converts one server.
func (r *reader) server(m member, name string) entry {
	e := entry{name: name, original: m.name}
	source, ok := asObject(m.value)
	if !ok {
		e.note("want an object with a command or an address")
		return e
	}
	r.transport(&e, source)
	for _, m := range source {
		r.key(&e, source, m)
	}
	return e
}

// transport converts the address and the type of a server, which depend on several keys.
func (r *reader) transport(e *entry, source object) {
	address, kind := source.text("url"), ""
	switch source.text("type") {
	case "sse":
		kind = "sse"
	case "", "stdio", "local", "http", "streamable-http", "streamableHttp", "streamable_http":
		if r.host == HostGemini && source.text("type") == "" && address != "" {
			kind = "sse" // Gemini CLI uses url for SSE and httpUrl for streamable HTTP
		}
	default:
		e.note("type: %s is unknown to molar; the other keys decide", quoteComment(source.text("type")))
	}
	if source.text("httpUrl") != "" {
		if address != "" {
			e.note("url: left out, because httpUrl overrides it")
		}
		address, kind = source.text("httpUrl"), ""
	}
	if address == "" {
		return
	}
	e.add("url", r.address(e.name, address))
	if kind != "" {
		e.add("type", kind)
	}
}

// key converts one key, or notes why it is left out.
func (r *reader) key(e *entry, source object, m member) {
	if string(m.value) == "null" {
		return
	}
	switch m.name {
	case "type", "url", "httpUrl": // see transport
		if _, ok := asText(m.value); !ok {
			e.note("%s: want a string", m.name)
		}
	case "command", "cwd":
		r.path(e, m)
	case "args":
		args, ok := asTexts(m.value)
		if !ok {
			e.note("args: want a list of strings")
			return
		}
		e.add("args", r.args(e.name, args))
	case "env", "headers":
		r.variables(e, m)
	case "envFile":
		e.note("envFile: %s is not read for one server; name it with --env-file, and each variable under env", quoteComment(source.text("envFile")))
	case "timeout":
		r.timeout(e, m.value)
	case "includeTools", "excludeTools":
		tools, ok := asTexts(m.value)
		if !ok {
			e.note("%s: want a list of strings", m.name)
			return
		}
		e.add(m.name, globs(tools))
	case "disabled", "enabled":
		r.disabled(e, m)
	default:
		e.note("%s", withoutCounterpart(m.name))
	}
}

// withoutCounterpart returns the note for a key without a counterpart in molar.yaml.
func withoutCounterpart(key string) string {
	switch key {
	case "trust", "autoApprove", "alwaysAllow":
		return key + ": not converted; to let the tools run without a question write tools: {\"*\": {policy: allow}}"
	case "oauth", "auth", "authProviderType":
		return key + ": not converted; log in with molar servers login, or send a token in headers"
	default:
		return quoteComment(key) + ": has no counterpart in molar.yaml"
	}
}

// path converts a program or a folder, and notes that a relative path now has another base.
func (r *reader) path(e *entry, m member) {
	text, ok := asText(m.value)
	if !ok {
		e.note("%s: want a string", m.name)
		return
	}
	value := r.maskString(e.name, text)
	if strings.ContainsAny(text, `/\`) && !filepath.IsAbs(text) && !strings.HasPrefix(text, "$") && !strings.Contains(text, ":") {
		e.note("%s: the path is relative, now to the folder of molar.yaml", m.name)
	}
	e.add(m.name, value)
}

// variables converts an environment or headers.
func (r *reader) variables(e *entry, m member) {
	source, ok := asObject(m.value)
	if !ok {
		e.note("%s: want an object of strings", m.name)
		return
	}
	var fields []field
	for _, v := range source {
		text, ok := asScalar(v.value)
		if !ok {
			e.note("%s.%s: want a string", m.name, quoteComment(v.name))
			continue
		}
		if m.name == "env" {
			text = r.envValue(e.name, v.name, text)
		} else {
			text = r.header(e.name, v.name, text)
		}
		fields = append(fields, field{v.name, text})
	}
	if len(fields) > 0 {
		e.add(m.name, fields)
	}
}

// timeout converts a timeout, which these hosts write in milliseconds.
func (r *reader) timeout(e *entry, raw json.RawMessage) {
	const most = 30 * time.Minute
	var ms float64
	if json.Unmarshal(raw, &ms) != nil || ms < 1 {
		e.note("timeout: want a number of milliseconds")
		return
	}
	if ms > float64(most.Milliseconds()) {
		e.note("timeout: cut to 30m, the most that molar waits")
		ms = float64(most.Milliseconds())
	}
	d := time.Duration(ms) * time.Millisecond
	if r.host != HostGemini {
		e.note("timeout: read as milliseconds")
	}
	e.add("timeout", d.String())
}

func (r *reader) disabled(e *entry, m member) {
	var is bool
	if json.Unmarshal(m.value, &is) != nil {
		e.note("%s: want true or false", m.name)
		return
	}
	if is == (m.name == "disabled") && !e.disabled {
		e.disabled = true
		e.add("disabled", true)
	}
}

// globs returns globs that match exactly the named tools, without duplicates.
func globs(names []string) []string {
	escape := strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`)
	seen := map[string]bool{}
	list := []string{}
	for _, name := range names {
		if name != "" && !seen[name] {
			seen[name] = true
			list = append(list, strings.ReplaceAll(escape.Replace(name), "$", "$$"))
		}
	}
	return list
}
