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

// A Host is a program whose file is read.
type Host string

// The hosts whose files differ.
const (
	Claude     Host = "Claude Desktop"
	VSCode     Host = "VS Code"
	Cursor     Host = "Cursor"
	HostGemini Host = "Gemini CLI"
)

// A HostFile is what was read.
type HostFile struct {
	// Host is whose shape the file has.
	Host Host
	// YAML is a text of its own that holds mcpServers, with a comment for everything
	// that could not be carried over. The config accepts it once the Variables are
	// set.
	YAML []byte
	// Servers are the names under which servers were carried over, LeftOut those of
	// the file that were not.
	Servers, LeftOut []string
	// Variables are those that the YAML refers to, in the order of their use.
	Variables []Variable
	// parts are the servers' texts, in the order of Servers.
	parts []string
	// head are the comments above the servers, entries the servers with theirs.
	head, entries string
	// asWritten are the variables that the file itself refers to.
	asWritten map[string]bool
}

// A Variable is what the YAML refers to in the place of a value.
type Variable struct {
	Name string
	// Value is what stood in the file; empty where that refers to a variable itself.
	Value schemas.Secret
	// Use says where its value stood in the file, or what is to be put there.
	Use string
	// Address tells that the value must begin like an address: http:// or https://.
	Address bool
}

// A reader gathers what becomes of one file.
type reader struct {
	host   Host
	inputs map[string]string // what VS Code asks for, by id
	values map[string]string // literal values by the variable that stands for them
	taken  []string          // names that no server may get
	out    *HostFile
	notes  []string // for the head of the text
}

// Read converts the file. name is what it is called, which helps to tell whose it
// is. JSON with comments and trailing commas is read. No server gets one of the names that are
// taken.
func Read(name string, data []byte, taken ...string) (*HostFile, error) {
	root, err := parseFile(data)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	found, notes, err := sections(root)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	r := &reader{
		host: hostOf(name, root, found), out: &HostFile{asWritten: referred(data)}, notes: notes,
		inputs: found.inputs, values: map[string]string{},
		taken: slices.Concat(ReservedServers(), taken),
	}
	r.out.Host = r.host
	var servers []entry
	for _, m := range found.servers {
		e := r.server(m, r.newName(m.name))
		if found.switchedOff(m.name) && !e.disabled {
			e.add("disabled", true)
			e.note("mcp.excluded or mcp.allowed switched it off")
		}
		servers = append(servers, e)
	}
	r.out.YAML = r.write(filepath.Base(name), servers)
	return r.out, nil
}

// found is what a file says about servers.
type found struct {
	key               string
	servers           object
	inputs            map[string]string
	allowed, excluded []string
}

func (f found) switchedOff(name string) bool {
	return slices.Contains(f.excluded, name) || f.allowed != nil && !slices.Contains(f.allowed, name)
}

// sections finds the servers: mcpServers, VS Code's servers, or those below mcp in
// its settings. Notes name what else the file holds.
func sections(root object) (found, []string, error) {
	f := found{inputs: map[string]string{}}
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

// hostOf tells the hosts apart by where the file lies and by the keys that only one
// of them knows.
func hostOf(name string, root object, f found) Host {
	folder := filepath.Base(filepath.Dir(name))
	uses := func(keys ...string) bool {
		return slices.ContainsFunc(f.servers, func(m member) bool {
			server, _ := asObject(m.value)
			return slices.ContainsFunc(keys, func(key string) bool { return server.get(key) != nil })
		})
	}
	switch {
	case f.key == "servers" || folder == ".vscode":
		return VSCode
	case folder == ".cursor":
		return Cursor
	case folder == ".gemini" || f.allowed != nil || f.excluded != nil || root.get("selectedAuthType") != nil ||
		uses("httpUrl", "trust", "includeTools", "excludeTools"):
		return HostGemini
	case uses("url", "envFile"):
		return Cursor
	default:
		return Claude
	}
}

// longestName is what the config takes.
const longestName = 32

// newName makes a name that the config takes out of any.
func (r *reader) newName(name string) string {
	plain := regexp.MustCompile(`[^A-Za-z0-9_-]+`).ReplaceAllString(strings.TrimSpace(name), "-")
	if len(plain) > longestName {
		plain = plain[:longestName]
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
		unique = plain[:min(len(plain), longestName-len(suffix))] + suffix
	}
	r.out.Servers = append(r.out.Servers, unique)
	return unique
}
