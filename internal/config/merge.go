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

// A Merged is the servers of several files in one.
type Merged struct {
	// Text stands below mcpServers, without that line.
	Text string
	// Variables are those that it refers to.
	Variables []Variable
	// Doubled are the servers that were left out, since another one has their name.
	Doubled []string
}

// Merge puts the servers of several files into one. A server keeps the name that it has in
// the first file. A variable gets another name where its own stands for something else: in
// another file, or as taken knows, such as in the environment.
func Merge(files []*HostFile, taken func(name string, value schemas.Secret) bool) Merged {
	m := merger{files: files, taken: taken, servers: map[string]string{}}
	for _, f := range files {
		m.add(f)
	}
	return Merged{Text: m.text.String(), Variables: m.variables, Doubled: m.doubled}
}

type merger struct {
	files     []*HostFile
	taken     func(name string, value schemas.Secret) bool
	text      strings.Builder
	variables []Variable
	servers   map[string]string // their texts with all values, by name
	doubled   []string
}

// add writes the servers of a file whose names are free. One that is there already, with
// the same values, is no second one.
func (m *merger) add(f *HostFile) {
	names, values := make([]string, 0, 2*len(f.Variables)), make([]string, 0, 2*len(f.Variables))
	var kept strings.Builder
	for _, v := range f.Variables {
		if v.Value != "" {
			values = append(values, v.reference(), v.Value.Reveal())
		}
	}
	whole := strings.NewReplacer(values...)
	for i, name := range f.Servers {
		before, there := m.servers[name]
		switch now := whole.Replace(f.parts[i]); {
		case !there:
			m.servers[name] = now
			kept.WriteString(f.parts[i])
		case before != now:
			m.doubled = append(m.doubled, name)
		}
	}
	if kept.Len() == 0 {
		return
	}
	for _, v := range f.Variables {
		if !v.in(kept.String()) {
			continue
		}
		old := v.reference()
		v.Name = m.free(f.Host, v)
		names = append(names, old, v.reference())
		if !slices.ContainsFunc(m.variables, func(other Variable) bool { return other.Name == v.Name }) {
			m.variables = append(m.variables, v)
		}
	}
	fmt.Fprintf(&m.text, "  # From %s:\n%s", f.Host, strings.NewReplacer(names...).Replace(kept.String()))
}

// free is the name of a variable, with the host before it where that is not its own.
func (m *merger) free(host Host, v Variable) string {
	name := v.Name
	for n := 1; v.Value != "" && m.clashes(name, v.Value); n++ {
		name = varName(string(host) + " " + v.Name)
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

// RefersTo reports whether the file itself refers to a variable of that name, so that the
// name must not stand for anything else.
func (f *HostFile) RefersTo(name string) bool { return f.asWritten[name] }

// reference is how a text refers to the variable.
func (v Variable) reference() string { return "${" + v.Name + "}" }

func (v Variable) in(text string) bool { return strings.Contains(text, v.reference()) }

// Here returns where the hosts of this user keep their servers, and those of the project in
// the working folder.
func Here(env func(string) (string, bool)) []string {
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
	return places(home, configuration, work)
}

// places leaves out what lies in folders without a name. Whether a file is there is not
// looked at.
func places(home, configuration, project string) []string {
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
	add(project, ".vscode", "mcp.json")
	add(project, ".cursor", "mcp.json")
	add(project, ".gemini", "settings.json")
	add(project, ".mcp.json")
	return all
}
