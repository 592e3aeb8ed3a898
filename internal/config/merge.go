package config

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"molar/schemas"
)

// Merged holds the servers of several files as one text.
type Merged struct {
	// Text holds the entries of mcpServers, without that line.
	Text string
	// Variables are the variables that Text refers to.
	Variables []Variable
	// Duplicates are the names of the servers that were left out because an earlier file has a
	// different server with the same name.
	Duplicates []string
}

// Merge merges the servers of several files. Of two servers with one name, it takes that of the
// first file. It renames a variable whose name another file uses for another value, or for whose
// name and value taken reports a conflict, such as with the environment.
func Merge(files []*HostFile, taken func(name string, value schemas.Secret) bool) Merged {
	m := merger{files: files, taken: taken, servers: map[string]string{}}
	for _, f := range files {
		m.add(f)
	}
	return Merged{Text: m.text.String(), Variables: m.variables, Duplicates: m.duplicates}
}

// A merger builds a [Merged].
type merger struct {
	files      []*HostFile
	taken      func(name string, value schemas.Secret) bool
	text       strings.Builder
	variables  []Variable
	servers    map[string]string // texts by name, with values in place of references
	duplicates []string
}

// add adds the servers of a file whose names are free. A server whose name is taken is a duplicate
// only if its text or its values differ.
func (m *merger) add(f *HostFile) {
	names, values := make([]string, 0, 2*len(f.Variables)), make([]string, 0, 2*len(f.Variables))
	var added strings.Builder
	for _, v := range f.Variables {
		if v.Value != "" {
			values = append(values, v.reference(), v.Value.Reveal())
		}
	}
	insertValues := strings.NewReplacer(values...)
	for i, name := range f.Servers {
		first, taken := m.servers[name]
		switch text := insertValues.Replace(f.parts[i]); {
		case !taken:
			m.servers[name] = text
			added.WriteString(f.parts[i])
		case first != text:
			m.duplicates = append(m.duplicates, name)
		}
	}
	if added.Len() == 0 {
		return
	}
	for _, v := range f.Variables {
		if !v.in(added.String()) {
			continue
		}
		old := v.reference()
		v.Name = m.uniqueName(f.Host, v)
		names = append(names, old, v.reference())
		if !slices.ContainsFunc(m.variables, func(other Variable) bool { return other.Name == v.Name }) {
			m.variables = append(m.variables, v)
		}
	}
	fmt.Fprintf(&m.text, "  # From %s:\n%s", f.Host, strings.NewReplacer(names...).Replace(added.String()))
}

// uniqueName returns the name of a variable, with the host and a number added if it clashes.
func (m *merger) uniqueName(host Host, v Variable) string {
	name, prefix := v.Name, string(host)
	if host == HostUnknown {
		prefix = "other"
	}
	for n := 1; v.Value != "" && m.clashes(name, v.Value); n++ {
		name = varName(prefix + " " + v.Name)
		if n > 1 {
			name = fmt.Sprintf("%s_%d", name, n)
		}
	}
	return name
}

func (m *merger) clashes(name string, value schemas.Secret) bool {
	return slices.ContainsFunc(m.files, func(f *HostFile) bool { return f.RefersTo(name) }) || m.taken(name, value) ||
		slices.ContainsFunc(m.variables, func(v Variable) bool { return v.Name == name && v.Value != value })
}

// RefersTo reports whether the file itself refers to a variable of that name, so that the name
// cannot be used for another value.
func (f *HostFile) RefersTo(name string) bool { return f.references[name] }

// reference returns the placeholder of the variable.
func (v Variable) reference() string { return "${" + v.Name + "}" }

func (v Variable) in(text string) bool { return strings.Contains(text, v.reference()) }

// HostFilePaths returns the files in which other hosts configure MCP servers for this user and for
// the project in the working folder. They need not exist.
func HostFilePaths(env func(string) (string, bool)) []string {
	get := func(name string) string {
		value, _ := env(name)
		return value
	}
	home, configuration := get("HOME"), get("XDG_CONFIG_HOME")
	switch {
	case runtime.GOOS == "windows":
		home, configuration = get("USERPROFILE"), get("APPDATA")
	case runtime.GOOS == "darwin" && home != "":
		configuration = filepath.Join(home, "Library", "Application Support")
	case configuration == "" && home != "":
		configuration = filepath.Join(home, ".config")
	}
	work, _ := os.Getwd() // without it the project's own files are not found
	return hostFilePaths(home, configuration, work)
}

// hostFilePaths returns the files below those of the folders whose path is known.
func hostFilePaths(home, configuration, project string) []string {
	var all []string
	add := func(folder string, names ...string) {
		if folder != "" {
			all = append(all, filepath.Join(append([]string{folder}, names...)...))
		}
	}
	add(configuration, "Claude", "claude_desktop_config.json")
	add(configuration, "Code", "User", "mcp.json")
	add(home, ".cursor", "mcp.json")
	add(home, ".gemini", "settings.json")
	add(home, ".claude.json")
	add(home, ".codex", "config.toml")
	add(home, ".config", "goose", "config.yaml")
	add(home, ".config", "opencode", "opencode.json")
	add(home, ".config", "zed", "settings.json")
	add(project, ".vscode", "mcp.json")
	add(project, ".cursor", "mcp.json")
	add(project, ".gemini", "settings.json")
	add(project, ".mcp.json")
	return all
}
