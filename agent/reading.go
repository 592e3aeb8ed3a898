package agent

import (
	"slices"
	"strings"

	"molar/internal/text"
	"molar/schemas"
	"molar/toolhandler"
)

// A Conversation is what a model is shown of the earlier turns.
type conversation struct {
	Exchanges []Exchange
	// Summary replaces all before the exchanges; Read are the servers and files whose text the
	// conversation has seen.
	Summary string
	Read    []string
	// trusted are the servers that the operator trusts to give no orders.
	Trusted map[string]bool
}

// Readings returns the conversation's texts of servers and files: results, and the answers and the
// summary, which may repeat them.
func (c conversation) Readings() []toolhandler.Reading {
	var texts []toolhandler.Reading
	for _, server := range c.Read {
		texts = append(texts, toolhandler.Reading{Server: server, Trusted: c.Trusted[server]})
	}
	for _, x := range c.Exchanges {
		results := resultsOf(x)
		texts = append(texts, Results(results, c.Trusted)...)
		if len(c.Read) > 0 || len(results) > 0 {
			texts = append(texts, retold(x.Answer(), serversOf(results, c.Read), c.Trusted))
		}
	}
	if c.Summary != "" && len(c.Read) > 0 {
		texts = append(texts, retold(c.Summary, c.Read, c.Trusted))
	}
	return texts
}

// Results returns the servers' texts among results.
func Results(results []schemas.ToolResult, trusted map[string]bool) []toolhandler.Reading {
	var texts []toolhandler.Reading
	for _, r := range results {
		if r.Server != "" {
			texts = append(texts, toolhandler.ReadingOf(r, trusted[r.Server]))
		}
	}
	return texts
}

// clientReadings returns the results of a client's own tools, which count as a server's.
func clientReadings(results []schemas.ToolResult) []toolhandler.Reading {
	var texts []toolhandler.Reading
	for _, r := range results {
		r.Server = PauseClient
		texts = append(texts, toolhandler.ReadingOf(r, false))
	}
	return texts
}

// fileMark begins the source of a file. It has a space, so that it can be no server's name.
const fileMark = "file "

// maxName bounds a file's name in its source, in bytes.
const maxName = 80

// file returns the source of an uploaded file's text and name: others may have written both.
func file(name string) string {
	if name = strings.Join(strings.Fields(name), " "); name == "" {
		name = "without a name"
	}
	return fileMark + text.Clip(text.EscapeInvisible(name), maxName, "…")
}

// pictures returns the images, sounds and other files in a person's message that a model reads
// directly.
func pictures(m schemas.Message) []toolhandler.Reading {
	var read []toolhandler.Reading
	for _, p := range m.Parts {
		if p.Kind == schemas.PartImage || p.Kind == schemas.PartFile {
			read = append(read, toolhandler.Reading{Server: file(p.Name), Text: p.Name})
		}
	}
	return read
}

// uploaded names the files attached to the earlier questions of a client's history: they are shown
// again, and the answers may repeat them.
func uploaded(messages []schemas.Message) []string {
	var files []string
	last := len(messages) - 1
	for last >= 0 && messages[last].Role != schemas.RoleUser {
		last--
	}
	for _, m := range messages[:max(last, 0)] {
		for _, p := range m.Parts {
			if p.IsFile() {
				files = append(files, file(p.Name))
			}
		}
	}
	slices.Sort(files)
	return slices.Compact(files)
}

// trusted returns the servers of the tools that the operator trusts to give no orders.
func trusted(tools []schemas.Tool) map[string]bool {
	servers := make(map[string]bool)
	for _, tool := range tools {
		if tool.Rules.Trusted {
			servers[tool.Server] = true
		}
	}
	return servers
}

// retold returns the reading of a model's text that may repeat servers' words. With several servers
// it names none, as the words cannot be told apart.
func retold(text string, servers []string, trusted map[string]bool) toolhandler.Reading {
	r := toolhandler.Reading{Text: text, Trusted: !slices.ContainsFunc(servers, func(s string) bool { return !trusted[s] })}
	if servers = slices.Compact(slices.Sorted(slices.Values(servers))); len(servers) == 1 {
		r.Server = servers[0]
	}
	return r
}

// serversOf returns the servers of results and all files of the conversation, as the question of a
// file is not recorded; without results, everything read.
func serversOf(results []schemas.ToolResult, read []string) []string {
	var servers []string
	for _, r := range results {
		if r.Server != "" {
			servers = append(servers, r.Server)
		}
	}
	if len(servers) == 0 {
		return read
	}
	for _, source := range read {
		if strings.HasPrefix(source, fileMark) {
			servers = append(servers, source)
		}
	}
	return servers
}

func resultsOf(x Exchange) []schemas.ToolResult {
	var all []schemas.ToolResult
	for _, round := range x.Rounds() {
		all = append(all, round.Results...)
	}
	return all
}
