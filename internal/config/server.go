package config

import (
	"encoding/json"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
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
	if r.form != nil {
		source = r.form.convert(source)
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
	case "timeout", "start_timeout":
		r.timeout(e, m)
	case "oauth", "auth":
		r.oauth(e, source, m)
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
	case "authProviderType":
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

// timeout converts a timeout in milliseconds.
func (r *reader) timeout(e *entry, m member) {
	const most = 30 * time.Minute
	var ms float64
	if json.Unmarshal(m.value, &ms) != nil || ms < 1 {
		e.note("%s: want a number of milliseconds", m.name)
		return
	}
	if ms > float64(most.Milliseconds()) {
		e.note("%s: cut to 30m, the most that molar waits", m.name)
		ms = float64(most.Milliseconds())
	}
	d := time.Duration(ms) * time.Millisecond
	if r.host != HostGemini && r.form == nil { // the others do not say which unit they mean
		e.note("%s: read as milliseconds", m.name)
	}
	e.add(m.name, d.String())
}

// oauth converts the login at a server.
func (r *reader) oauth(e *entry, source object, m member) {
	settings, ok := asObject(m.value)
	headers, _ := asObject(source.get("headers"))
	authorized := slices.ContainsFunc(headers, func(h member) bool { return strings.EqualFold(h.name, "Authorization") })
	switch {
	case string(settings.get("enabled")) == "false" || string(m.value) == "false":
		return
	case !ok:
		e.note("%s: want an object", m.name)
		return
	case source.text("url") == "" && source.text("httpUrl") == "":
		e.note("%s: left out, because it applies only with url", m.name)
		return
	case authorized:
		e.note("%s: left out, because headers has Authorization", m.name)
		return
	}
	var fields []field
	id := settings.text("clientId") + settings.text("CLIENT_ID")
	for _, s := range settings {
		text, _ := asText(s.value)
		switch s.name {
		case "enabled":
		case "clientId", "CLIENT_ID":
			fields = append(fields, field{"client_id", r.maskString(e.name, text)})
		case "clientSecret", "CLIENT_SECRET":
			if id == "" {
				e.note("%s.%s: left out, because there is no client ID", m.name, s.name)
				continue
			}
			fields = append(fields, field{"client_secret", r.maskValue(e.name, "secret", text, varName(e.name+"_CLIENT_SECRET"), "the secret of the client at "+e.name)})
		case "scopes", "scope":
			scopes, isList := asTexts(s.value)
			if !isList {
				scopes = strings.Fields(text)
			}
			if len(scopes) > 0 {
				fields = append(fields, field{"scopes", scopes})
			}
		case "callbackPort", "redirectUri":
			port := text
			if at, err := url.Parse(text); s.name == "redirectUri" && err == nil {
				port = at.Port()
			} else if s.name == "callbackPort" {
				port, _ = asScalar(s.value)
			}
			if n, err := strconv.Atoi(port); err == nil && n > 0 && n < 1<<16 {
				fields = append(fields, field{"redirect_port", n})
				e.note("%s.%s: the browser comes back to http://127.0.0.1:%d/callback, which the client must allow", m.name, s.name, n)
			}
		default:
			e.note("%s.%s: has no counterpart in molar.yaml", m.name, quoteComment(s.name))
		}
	}
	if len(fields) > 0 {
		e.add("oauth", fields)
	}
	e.note("%s: log in with: molar servers login %s", m.name, e.name)
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

// switchOff disables a server that its host does not start.
func (e *entry) switchOff(why string) {
	e.disabled = true
	e.add("disabled", true)
	e.note("%s", why)
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
