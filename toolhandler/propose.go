package toolhandler

import (
	"fmt"
	"slices"
	"strings"

	"molar/schemas"
)

// Propose returns what to propose to the operator about a server's tools. Nothing of it is in force
// before a person confirms it.
func Propose(server string, tools []schemas.Tool) schemas.Proposal {
	p := schemas.Proposal{Server: server, Closed: true, Tools: []schemas.ProposedTool{}}
	fetches, writes := false, false
	for _, t := range tools {
		if t.Server != server {
			continue
		}
		class, why := Classify(t)
		p.Closed = p.Closed && isFalse(t.Annotations.OpenWorldHint)
		fetches = fetches || class == Reads && !isFalse(t.Annotations.OpenWorldHint) && takesAddress(t)
		writes = writes || class != Reads
		tool := schemas.ProposedTool{Tool: t.ToolName, Reads: class == Reads, Adds: class == Adds, Destroys: destroys(t), Content: []string{}, Why: why}
		if ok, evidence := mayAdd(t); class == Writes && ok {
			tool.MayAdd, tool.Adds = true, isFalse(t.Annotations.OpenWorldHint)
			tool.Why = evidence
		}
		for _, a := range Arguments(t) {
			if a.Use == Content {
				tool.Content = append(tool.Content, a.Path)
			}
		}
		p.Tools = append(p.Tools, tool)
	}
	p.Closed = p.Closed && len(p.Tools) > 0
	p.Public = fetches && !writes
	return p
}

// mayAdd reports whether a tool that counts as writing looks like one that only adds.
func mayAdd(t schemas.Tool) (ok bool, why string) {
	if destroys(t) || commandOf(t, schemaOf(t), nil) != "" {
		return false, ""
	}
	if isFalse(t.Annotations.DestructiveHint) {
		return true, "it announces that it destroys nothing"
	}
	if first := firstWord(t); slices.Contains(addingVerbs(), first) {
		return true, fmt.Sprintf("its name begins with %q", first)
	}
	return false, ""
}

// addingVerbs only propose: no rule counts them.
func addingVerbs() []string {
	return []string{"add", "append", "book", "create", "draft", "insert", "log", "note", "record", "remember", "reserve", "save", "schedule"}
}

// firstWord returns the first word of a tool's name, after the name of its server.
func firstWord(t schemas.Tool) string {
	all, server := words(t.ToolName), words(t.Server)
	for len(all) > 1 && slices.Contains(server, all[0]) {
		all = all[1:]
	}
	if len(all) == 0 {
		return ""
	}
	return all[0]
}

// takesAddress reports whether an argument of a tool is an address on the web.
func takesAddress(t schemas.Tool) bool {
	return slices.ContainsFunc(Arguments(t), func(a Argument) bool {
		return slices.Contains([]string{"url", "urls", "uri"}, lastWord(a.Path[strings.LastIndexByte(a.Path, '.')+1:]))
	})
}

func isFalse(hint *bool) bool { return hint != nil && !*hint }

// MarkLines returns what is proposed about servers as the lines of a config file. What is up to the
// operator is a comment.
func MarkLines(proposals []schemas.Proposal) []string {
	var lines []string
	for i, p := range proposals {
		if i == 0 {
			lines = append(lines, "mcpServers:")
		}
		lines = append(lines, markLines(p)...)
	}
	return lines
}

func markLines(p schemas.Proposal) []string {
	lines := []string{"  " + quoted(p.Server) + ":"}
	for _, mark := range []struct {
		name string
		on   bool
	}{{"public", p.Public}, {"closed", p.Closed}, {"readonly", p.ReadOnly}} {
		if mark.on {
			lines = append(lines, "    "+mark.name+": true")
		}
	}
	lines = append(lines, "    tools:")
	for _, t := range p.Tools {
		rule := []string{}
		switch {
		case t.Reads:
			rule = append(rule, "readOnly: true")
		case t.Adds:
			rule = append(rule, "adds: true")
		}
		names := make([]string, len(t.Content))
		for i, path := range t.Content {
			names[i] = quoted(path)
		}
		rule = append(rule, "content: ["+strings.Join(names, ", ")+"]")
		line := "      " + quoted(globOf(t.Tool)) + ": {" + strings.Join(rule, ", ") + "}"
		if t.MayAdd && !t.Adds {
			line += " # adds: true, if what it adds harms nobody"
		}
		if t.Destroys {
			line += " # destructive: false, if it destroys nothing of value"
		}
		lines = append(lines, line)
	}
	return lines
}

// globOf returns the glob that matches exactly a tool.
func globOf(tool string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `$`, `$$`).Replace(tool)
}

// quoted returns a name as YAML, in quotes unless it is plain.
func quoted(name string) string {
	if name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '_'
	}) && !slices.Contains([]string{"y", "n", "yes", "no", "true", "false", "on", "off", "null"}, strings.ToLower(name)) {
		return name
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(name) + `"`
}
