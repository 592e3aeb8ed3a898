package config

import (
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

// ReadHostFile converts the content of a file. Its name helps to recognise the host. Comments and
// trailing commas in the JSON are ignored. No server gets one of the taken names.
func ReadHostFile(name string, data []byte, taken ...string) (*HostFile, error) {
	root, err := parseFile(data)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	section, notes, err := findServers(root)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	r := newReader(hostOf(name, root, section), data, taken)
	r.inputs, r.notes = section.inputs, notes
	var servers []entry
	for _, m := range section.servers {
		e := r.server(m, r.newName(m.name))
		if section.switchedOff(m.name) && !e.disabled {
			e.add("disabled", true)
			e.note("mcp.excluded or mcp.allowed switched it off")
		}
		servers = append(servers, e)
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
	servers           object
	inputs            map[string]string
	allowed, excluded []string
}

func (f serverSection) switchedOff(name string) bool {
	return slices.Contains(f.excluded, name) || f.allowed != nil && !slices.Contains(f.allowed, name)
}

// findServers returns the servers of a file, which are below mcpServers, below servers (VS Code) or
// below mcp.servers (VS Code's settings), and notes that list the keys which were not read.
func findServers(root object) (serverSection, []string, error) {
	f := serverSection{inputs: map[string]string{}}
	var notes, others []string
	if mcp, ok := asObject(root.get("mcp")); ok {
		if root.get("mcpServers") == nil && mcp.get("servers") != nil {
			root = mcp
		} else {
			f.allowed, f.excluded = mcp.strings("allowed"), mcp.strings("excluded")
		}
	}
	for _, m := range root {
		switch m.name {
		case "mcpServers", "servers":
			servers, ok := asObject(m.value)
			if !ok {
				return f, nil, fmt.Errorf("%s: want an object with a server under each name", m.name)
			}
			f.key, f.servers = m.name, append(f.servers, servers...)
		case "inputs":
			for _, in := range asObjects(m.value) {
				f.inputs[in.text("id")] = in.text("description")
			}
		case "allowMCPServers":
			f.allowed = append(f.allowed, root.strings(m.name)...)
		case "excludeMCPServers":
			f.excluded = append(f.excluded, root.strings(m.name)...)
		case "mcp":
		default:
			others = append(others, quoteComment(m.name))
		}
	}
	if f.key == "" {
		return f, nil, errors.New(`it holds neither "mcpServers" nor "servers"; want the file of Claude Desktop, VS Code, Cursor or Gemini CLI`)
	}
	if len(others) > 0 {
		notes = append(notes, "Not read, as it is not about MCP servers: "+strings.Join(others, ", "))
	}
	return f, notes, nil
}

// hostOf recognises the host by the folder of the file and by keys that only one host has.
func hostOf(name string, root object, f serverSection) Host {
	folder := filepath.Base(filepath.Dir(name))
	uses := func(keys ...string) bool {
		return slices.ContainsFunc(f.servers, func(m member) bool {
			server, _ := asObject(m.value)
			return slices.ContainsFunc(keys, func(key string) bool { return server.get(key) != nil })
		})
	}
	switch {
	case f.key == "servers" || folder == ".vscode":
		return HostVSCode
	case folder == ".cursor":
		return HostCursor
	case folder == ".gemini" || f.allowed != nil || f.excluded != nil || root.get("selectedAuthType") != nil ||
		uses("httpUrl", "trust", "includeTools", "excludeTools"):
		return HostGemini
	case uses("url", "envFile"):
		return HostCursor
	default:
		return HostClaude
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
