package hostfile

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Merge returns the servers of several files as one text below mcpServers, without that
// line, and whose names were taken: a server keeps the name that it has in the first file.
func Merge(files []*File) (text string, doubled []string) {
	var b strings.Builder
	var names []string
	for _, f := range files {
		fmt.Fprintf(&b, "  # From %s:\n", f.Host)
		for i, name := range f.Servers {
			if slices.Contains(names, name) {
				doubled = append(doubled, name)
				continue
			}
			names = append(names, name)
			b.WriteString(f.parts[i])
		}
	}
	return b.String(), doubled
}

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
