package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"molar/schemas"
)

// A Host is a program whose config file can be imported.
type Host string

// The hosts, whose files differ in form.
const (
	HostClaude     Host = "Claude Desktop"
	HostClaudeCode Host = "Claude Code"
	HostVSCode     Host = "VS Code"
	HostCursor     Host = "Cursor"
	HostGemini     Host = "Gemini CLI"
	HostCodex      Host = "Codex"
	HostGoose      Host = "goose"
	HostOpenCode   Host = "opencode"
	HostZed        Host = "Zed"
	// HostUnknown is any other host whose file has the usual key.
	HostUnknown Host = "a file with mcpServers"
)

// A HostFile is a converted file of another host.
type HostFile struct {
	// Host is the host whose form the file has.
	Host Host
	// YAML is a config file with the key mcpServers, with a comment for everything that was not
	// converted. It is valid if the Variables are set.
	YAML []byte
	// Servers are the new names of the converted servers. LeftOut are the original names of the
	// others.
	Servers, LeftOut []string
	// Variables are the variables that the YAML refers to, in the order of their use.
	Variables []Variable
	// parts are the servers' texts, in the order of Servers.
	parts []string
	// head holds the comments above the servers, entries the servers with their comments.
	head, entries string
	// references are the variables that the original file refers to.
	references map[string]bool
	// faults are the reasons of LeftOut.
	faults []string
}

// A Variable takes the place of a value in the YAML.
type Variable struct {
	Name string
	// Value is the value in the original file; empty if that file refers to a variable too.
	Value schemas.Secret
	// Use describes where the value was in the file, or which value the variable needs.
	Use string
	// Address reports whether the value must begin with http:// or https://.
	Address bool
}

// A reader converts one file.
type reader struct {
	host   Host
	form   *form             // nil means the usual one
	inputs map[string]string // descriptions of the inputs of VS Code, by id
	values map[string]string // literal values by the variable that replaces them
	taken  []string          // names that no server may get
	secret bool              // every value of env and headers is secret
	// person is set if ${person.id} and the like stand for a person.
	person bool
	// unchecked is set if the servers are checked later, with the rest of the file.
	unchecked bool
	// conflicts reports whether a variable has another value outside of the file; nil means never.
	conflicts func(name string, value schemas.Secret) bool
	out       *HostFile
	notes     []string // comments at the head of the text
}

// ReadHostFile converts the content of a file: JSON, TOML (Codex) or YAML (goose). Its path and its
// form tell the host. Comments and trailing commas in JSON are ignored. No server gets one of the
// taken names.
func ReadHostFile(name string, data []byte, taken ...string) (*HostFile, error) {
	root, err := readRoot(data)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	section, notes, err := findServers(root)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	r := newReader(hostOf(name, root, section), data, taken)
	r.inputs, r.notes = section.inputs, notes
	r.form = section.form
	var servers []entry
	for _, m := range section.servers {
		e := r.server(m, r.newName(m.name))
		if section.switchedOff(m.name) && !e.disabled {
			e.switchOff("mcp.excluded or mcp.allowed switched it off")
		}
		servers = append(servers, e)
	}
	for _, p := range section.projects {
		for _, m := range p.servers {
			e := r.server(m, r.newName(m.name))
			e.note("of the project %s", quoteComment(p.folder))
			if slices.Contains(p.disabled, m.name) && !e.disabled {
				e.switchOff("the project switched it off")
			}
			servers = append(servers, e)
		}
	}
	r.out.YAML = r.write(filepath.Base(name), servers)
	return r.out, nil
}

// newReader returns a reader whose servers get none of the taken names, and whose secrets none of the
// variables that data refers to.
func newReader(host Host, data []byte, taken []string) *reader {
	return &reader{
		host: host, out: &HostFile{Host: host, references: referencedNames(data)}, values: map[string]string{},
		taken: slices.Concat(ReservedServers(), taken),
	}
}

// A serverSection holds the settings of a file that concern servers.
type serverSection struct {
	key               string
	form              *form
	servers           object
	inputs            map[string]string
	allowed, excluded []string
	projects          []project
}

// A project holds the servers that Claude Code keeps for one folder.
type project struct {
	folder   string
	servers  object
	disabled []string
}

func (f serverSection) switchedOff(name string) bool {
	return slices.Contains(f.excluded, name) || f.allowed != nil && !slices.Contains(f.allowed, name)
}

// findServers returns the servers of a file, which are below mcpServers, below servers (VS Code), below
// mcp.servers (VS Code's settings), below the projects (Claude Code), or below the key of another form;
// and notes that list the keys which were not read.
func findServers(root object) (serverSection, []string, error) {
	f := serverSection{inputs: map[string]string{}}
	if root.get("mcpServers") == nil && root.get("servers") == nil {
		f.form = formOf(root)
	}
	var others []string
	if mcp, ok := asObject(root.get("mcp")); ok && f.form == nil {
		if root.get("mcpServers") == nil && mcp.get("servers") != nil {
			root = mcp
		} else {
			f.allowed, f.excluded = mcp.strings("allowed"), mcp.strings("excluded")
		}
	}
	for _, m := range root {
		switch isForm := f.form != nil && m.name == f.form.key; {
		case isForm, m.name == "mcpServers", m.name == "servers":
			servers, ok := asObject(m.value)
			if !ok {
				return f, nil, fmt.Errorf("%s: want an object with a server under each name", m.name)
			}
			f.key, f.servers = m.name, append(f.servers, servers...)
		case m.name == "inputs":
			for _, in := range asObjects(m.value) {
				f.inputs[in.text("id")] = in.text("description")
			}
		case m.name == "allowMCPServers":
			f.allowed = append(f.allowed, root.strings(m.name)...)
		case m.name == "excludeMCPServers":
			f.excluded = append(f.excluded, root.strings(m.name)...)
		case m.name == "projects":
			f.projects = projectsOf(m.value)
		case m.name == "mcp":
		default:
			others = append(others, quoteComment(m.name))
		}
	}
	if f.key == "" && len(f.projects) == 0 {
		return f, nil, errors.New(`it holds neither "mcpServers" nor "servers", nor the servers of another host in a form that is known; ` +
			"want the file of Claude Desktop, Claude Code, VS Code, Cursor, Gemini CLI, Codex, goose, opencode or Zed")
	}
	if len(others) == 0 {
		return f, nil, nil
	}
	more := ""
	if n := len(others) - maxListed; n > 1 {
		others, more = others[:maxListed], fmt.Sprintf(" and %d more", n)
	}
	return f, []string{"Not read, as it is not about MCP servers: " + strings.Join(others, ", ") + more}, nil
}

// maxListed is how many keys a comment lists.
const maxListed = 8

// formOf returns the form of a file that is not the usual one, or nil.
func formOf(root object) *form {
	for _, f := range forms() {
		servers, ok := asObject(root.get(f.key))
		if ok && (f.fits == nil || f.fits(servers)) {
			return &f
		}
	}
	return nil
}

// projectsOf returns the projects that have servers.
func projectsOf(raw json.RawMessage) []project {
	all, _ := asObject(raw)
	var found []project
	for _, m := range all {
		settings, _ := asObject(m.value)
		if servers, ok := asObject(settings.get("mcpServers")); ok && len(servers) > 0 {
			found = append(found, project{folder: m.name, servers: servers, disabled: settings.strings("disabledMcpServers")})
		}
	}
	return found
}

// hostOf recognises the host by the path of the file, and by keys that only one host has.
func hostOf(name string, root object, f serverSection) Host {
	folder, base := filepath.Base(filepath.Dir(name)), filepath.Base(name)
	uses := func(keys ...string) bool {
		return slices.ContainsFunc(f.servers, func(m member) bool {
			server, _ := asObject(m.value)
			return slices.ContainsFunc(keys, func(key string) bool { return server.get(key) != nil })
		})
	}
	switch {
	case f.form != nil:
		return f.form.host
	case f.key == "servers" || folder == ".vscode":
		return HostVSCode
	case len(f.projects) > 0 || base == ".claude.json" || base == ".mcp.json":
		return HostClaudeCode
	case base == "claude_desktop_config.json":
		return HostClaude
	case folder == ".cursor":
		return HostCursor
	case folder == ".gemini" || f.allowed != nil || f.excluded != nil || root.get("selectedAuthType") != nil ||
		uses("httpUrl", "trust", "includeTools", "excludeTools", "authProviderType"):
		return HostGemini
	case uses("envFile", "auth"):
		return HostCursor
	default:
		return HostUnknown
	}
}

// maxServerName is the length of the longest valid server name, in bytes.
const maxServerName = 32

// newName returns a valid and unique server name that resembles name, and adds it to the converted
// servers.
func (r *reader) newName(name string) string {
	plain := regexp.MustCompile(`[^A-Za-z0-9_-]+`).ReplaceAllString(strings.TrimSpace(name), "-")
	if len(plain) > maxServerName {
		plain = plain[:maxServerName]
	}
	if strings.Trim(plain, "-_") == "" {
		plain = "server"
	}
	if plain != name {
		plain = strings.Trim(plain, "-")
	}
	unique := plain
	for n := 2; slices.Contains(r.out.Servers, unique) || slices.Contains(r.taken, unique); n++ {
		suffix := fmt.Sprintf("-%d", n)
		unique = plain[:min(len(plain), maxServerName-len(suffix))] + suffix
	}
	r.out.Servers = append(r.out.Servers, unique)
	return unique
}
