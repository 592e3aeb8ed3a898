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
		open, takesAddress := !isFalse(t.Annotations.OpenWorldHint), false
		tool := schemas.ProposedTool{Tool: t.ToolName, Reads: class == Reads, Adds: class == Adds, Destroys: destroys(t), Content: []string{}, Why: why}
		if ok, evidence := mayAdd(t); class == Writes && ok {
			tool.MayAdd, tool.Adds, tool.Why = true, !open, evidence
		}
		for _, a := range Arguments(t) {
			if a.Use == Content {
				tool.Content = append(tool.Content, a.Path)
			}
			name := a.Path[strings.LastIndexByte(a.Path, '.')+1:]
			takesAddress = takesAddress || slices.Contains([]string{"url", "urls", "uri"}, lastWord(name))
		}
		p.Closed = p.Closed && !open
		fetches = fetches || class == Reads && open && takesAddress
		writes = writes || class != Reads
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
	if own := ownWords(t); len(own) > 0 && slices.Contains(addingVerbs(), own[0]) {
		return true, fmt.Sprintf("its name begins with %q", own[0])
	}
	return false, ""
}

// addingVerbs only propose: no rule counts them.
func addingVerbs() []string {
	return []string{"add", "append", "book", "create", "draft", "insert", "log", "note", "record", "remember", "reserve", "save", "schedule"}
}

func isFalse(hint *bool) bool { return hint != nil && !*hint }

// MarkLines returns what is proposed about servers as the lines of a config file. What is up to the
// operator is a comment.
func MarkLines(proposals []schemas.Proposal) []string {
	if len(proposals) == 0 {
		return nil
	}
	lines := []string{"mcpServers:"}
	for _, p := range proposals {
		lines = append(lines, "  "+quoted(p.Server)+":")
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
			lines = append(lines, "      "+markLine(t))
		}
	}
	return lines
}

func markLine(t schemas.ProposedTool) string {
	marks, comment := "", ""
	switch {
	case t.Reads:
		marks = "readOnly: true, "
	case t.Adds:
		marks = "adds: true, "
	}
	if t.MayAdd && !t.Adds {
		comment = " # adds: true, if what it adds harms nobody"
	}
	if t.Destroys {
		comment += " # destructive: false, if it destroys nothing of value"
	}
	content := make([]string, len(t.Content))
	for i, path := range t.Content {
		content[i] = quoted(path)
	}
	return quoted(globOf(t.Tool)) + ": {" + marks + "content: [" + strings.Join(content, ", ") + "]}" + comment
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
