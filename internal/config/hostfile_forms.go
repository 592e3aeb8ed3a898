package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	yaml "github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/pelletier/go-toml/v2"
)

// A form is the way in which one host writes its servers, where that is not the usual one.
type form struct {
	host Host
	// key is the key of the servers. fits reports whether its value holds servers of this host.
	key  string
	fits func(object) bool
	// convert returns a server in the usual form.
	convert func(object) object
}

// forms returns the forms that differ from the usual one, an object with servers below mcpServers or
// servers.
func forms() []form {
	return []form{
		{host: HostCodex, key: "mcp_servers", convert: codexServer},
		{host: HostZed, key: "context_servers", convert: zedServer},
		{host: HostGoose, key: "extensions", fits: hasKind, convert: gooseServer},
		{host: HostOpenCode, key: "mcp", fits: hasKind, convert: openCodeServer},
	}
}

// hasKind reports whether an object holds a server whose type is written out.
func hasKind(servers object) bool {
	return slices.ContainsFunc(servers, func(m member) bool {
		server, _ := asObject(m.value)
		return server.text("type") != ""
	})
}

// The formats other than JSON, by a line that only they have.
var (
	tomlServers = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^\s*\[mcp_servers[.\]]`) })
	yamlServers = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^extensions:`) })
)

// LooksLikeHostFile reports whether a text that does not begin with a blank is meant as the file of
// another host.
func LooksLikeHostFile(text string) bool {
	return text != "" && strings.ContainsAny(text[:1], `{["`) || strings.HasPrefix(text, "//") || strings.HasPrefix(text, "/*") ||
		tomlServers().MatchString(text) || yamlServers().MatchString(text)
}

// readRoot reads the file in its format.
func readRoot(data []byte) (object, error) {
	if len(data) > maxHostFile {
		return nil, fmt.Errorf("it is larger than %d bytes", maxHostFile)
	}
	switch isTOML, isYAML := tomlServers().Match(data), yamlServers().Match(data); {
	case (isTOML || isYAML) && isDeep(data):
		return nil, errors.New("it is nested too deep")
	case isTOML:
		var file map[string]any
		if toml.Unmarshal(data, &file) != nil {
			return nil, errors.New("it is not valid TOML") // the message of the library quotes the file
		}
		return asRoot(json.Marshal(file))
	case isYAML:
		root, err := asRoot(fromYAML(data))
		if err != nil {
			return nil, errors.New("it is not valid YAML")
		}
		return root, nil
	default:
		return parseFile(data)
	}
}

// isDeep reports whether a text is nested deeper than any person writes it: the parsers recurse, and
// take the square of the time.
func isDeep(data []byte) bool {
	const most = 100
	depth := 0
	for line := range bytes.Lines(data) {
		if len(line)-len(bytes.TrimLeft(line, " \t-?")) > 2*most {
			return true
		}
		for _, c := range line {
			switch c {
			case '[', '{':
				depth++
			case ']', '}':
				depth = max(0, depth-1)
			}
			if depth > most {
				return true
			}
		}
	}
	return false
}

// fromYAML converts YAML without aliases, which could make little text large, to JSON. The library can
// fail on odd input.
func fromYAML(data []byte) (text []byte, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("the parser failed")
		}
	}()
	_, data = cutMark(data)
	root, err := parse(data)
	if err != nil || root == nil || len(ast.Filter(ast.AliasType, root)) > 0 {
		return nil, errors.New("it is empty, or has aliases")
	}
	return yaml.YAMLToJSON(data)
}

func asRoot(data []byte, err error) (root object, _ error) {
	if err == nil {
		err = json.Unmarshal(data, &root)
	}
	return root, err
}

// rename returns an object with other names for some members, and without those that are renamed to "".
func (o object) rename(names map[string]string) object {
	var out object
	for _, m := range o {
		if name, known := names[m.name]; known {
			m.name = name
		}
		if m.name != "" {
			out = append(out, m)
		}
	}
	return out
}

// with adds strings to the object that is a member of o, or makes it.
func (o object) with(name string, values map[string]string) object {
	if len(values) == 0 {
		return o
	}
	inner, _ := asObject(o.get(name))
	for _, key := range slices.Sorted(maps.Keys(values)) {
		inner = append(inner, rawMember(key, values[key]))
	}
	out := slices.DeleteFunc(slices.Clone(o), func(m member) bool { return m.name == name })
	return append(out, member{name, inner.raw()})
}

func (o object) raw() json.RawMessage {
	var b strings.Builder
	for i, m := range o {
		name, _ := json.Marshal(m.name) // a string is always valid
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(m.value)
	}
	return json.RawMessage("{" + b.String() + "}")
}

func rawMember(name string, value any) member {
	raw, _ := json.Marshal(value) // only strings, numbers and lists of strings
	return member{name, raw}
}

// references returns a reference for each of the names of variables.
func references(names []string) map[string]string {
	all := map[string]string{}
	for _, name := range names {
		all[name] = "${" + name + "}"
	}
	return all
}

// inMilliseconds converts members that hold seconds.
func (o object) inMilliseconds(names ...string) object {
	out := slices.Clone(o)
	for i, m := range out {
		var seconds float64
		if slices.Contains(names, m.name) && json.Unmarshal(m.value, &seconds) == nil {
			out[i] = rawMember(m.name, seconds*1000)
		}
	}
	return out
}

func codexServer(s object) object {
	headers := map[string]string{}
	if name := s.text("bearer_token_env_var"); name != "" {
		headers["Authorization"] = "Bearer ${" + name + "}"
	}
	fromEnv, _ := asObject(s.get("env_http_headers"))
	for _, m := range fromEnv {
		if name, ok := asText(m.value); ok {
			headers[m.name] = "${" + name + "}"
		}
	}
	variables := references(s.strings("env_vars"))
	s = s.inMilliseconds("tool_timeout_sec", "startup_timeout_sec").rename(map[string]string{
		"tool_timeout_sec": "timeout", "startup_timeout_sec": "start_timeout", "startup_timeout_ms": "start_timeout",
		"http_headers": "headers", "enabled_tools": "includeTools", "disabled_tools": "excludeTools", "bearer_token_env_var": "", "env_http_headers": "", "env_vars": "",
	})
	return s.with("headers", headers).with("env", variables)
}

func zedServer(s object) object {
	if command, ok := asObject(s.get("command")); ok { // its older form
		s = slices.Concat(s.rename(map[string]string{"command": ""}), command.rename(map[string]string{"path": "command"}))
	}
	return s.rename(map[string]string{"source": ""})
}

func gooseServer(s object) object {
	variables := references(s.strings("env_keys"))
	kind := s.text("type")
	s = s.rename(map[string]string{
		"cmd": "command", "envs": "env", "uri": "url", "available_tools": "includeTools", "env_keys": "",
		"name": "", "display_name": "", "description": "", "bundled": "",
	})
	if kind == "builtin" || kind == "platform" || kind == "frontend" || kind == "inline_python" {
		return object{rawMember("part of goose itself", kind)}
	}
	if tools, ok := asTexts(s.get("includeTools")); ok && len(tools) == 0 { // all of them
		s = s.rename(map[string]string{"includeTools": ""})
	}
	return s.inMilliseconds("timeout").with("env", variables)
}

func openCodeServer(s object) object {
	reference := regexp.MustCompile(`\{env:([A-Za-z_][A-Za-z0-9_]*)\}`)
	out := s.rename(map[string]string{"environment": "env", "command": "", "type": ""})
	if command := s.strings("command"); len(command) > 0 {
		out = append(out, rawMember("command", command[0]), rawMember("args", command[1:]))
	}
	for i, m := range out {
		out[i].value = reference.ReplaceAll(m.value, []byte("$${$1}"))
	}
	return out
}
