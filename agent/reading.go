package agent

import (
	"slices"
	"strings"

	"molar/internal/text"
	"molar/schemas"
	"molar/toolhandler"
)

// A Conversation is what a model is shown of the turns before.
type Conversation struct {
	Exchanges []Exchange
	// Summary stands for all before the exchanges, Read are the servers and files whose text it has seen.
	Summary string
	Read    []string
	// Trusted are the servers whose texts give no orders, as the operator says.
	Trusted map[string]bool
}

// Readings are what the conversation holds of servers and files: results, and the answers and
// the summary, in which their words may stand.
func (c Conversation) Readings() []toolhandler.Reading {
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

// Results are the texts of servers in some results.
func Results(results []schemas.ToolResult, trusted map[string]bool) []toolhandler.Reading {
	var texts []toolhandler.Reading
	for _, r := range results {
		if r.Server != "" {
			texts = append(texts, toolhandler.ReadingOf(r, trusted[r.Server]))
		}
	}
	return texts
}

// ReadingClient are the results of a client's own tools, which count as a server's.
func ReadingClient(results []schemas.ToolResult) []toolhandler.Reading {
	var texts []toolhandler.Reading
	for _, r := range results {
		r.Server = PauseClient
		texts = append(texts, toolhandler.ReadingOf(r, false))
	}
	return texts
}

// fileMark begins the source of a file. It has a space, so that no server is called so.
const fileMark = "file "

// mostName is how many bytes of a file's name its source has.
const mostName = 80

// File is the source of what stands in a file that a person uploaded, and in its name: others may
// have written both.
func File(name string) string {
	if name = strings.Join(strings.Fields(name), " "); name == "" {
		name = "without a name"
	}
	return fileMark + text.Clip(text.Seen(name), mostName, "…")
}

// Pictures are the images, sounds and other files in a person's message that a model reads as they are.
func Pictures(m schemas.Message) []toolhandler.Reading {
	var read []toolhandler.Reading
	for _, p := range m.Parts {
		if p.Kind == schemas.PartImage || p.Kind == schemas.PartFile {
			read = append(read, toolhandler.Reading{Server: File(p.Name), Text: p.Name})
		}
	}
	return read
}

// Uploaded names the files that stood beside the questions before the last one, as a client sent them.
// No model is shown them again, but the answers may tell of them.
func Uploaded(messages []schemas.Message) []string {
	var files []string
	last := len(messages) - 1
	for last >= 0 && messages[last].Role != schemas.RoleUser {
		last--
	}
	for _, m := range messages[:max(last, 0)] {
		for _, p := range m.Parts {
			if p.IsFile() {
				files = append(files, File(p.Name))
			}
		}
	}
	slices.Sort(files)
	return slices.Compact(files)
}

// Trusted names the servers among tools whose texts give no orders, as the operator says.
func Trusted(tools []schemas.Tool) map[string]bool {
	servers := make(map[string]bool)
	for _, tool := range tools {
		if tool.Rules.Trusted {
			servers[tool.Server] = true
		}
	}
	return servers
}

// retold is a text of the model that may hold what some servers said. Of several nobody
// knows whose words are where.
func retold(text string, servers []string, trusted map[string]bool) toolhandler.Reading {
	r := toolhandler.Reading{Text: text, Trusted: !slices.ContainsFunc(servers, func(s string) bool { return !trusted[s] })}
	if servers = slices.Compact(slices.Sorted(slices.Values(servers))); len(servers) == 1 {
		r.Server = servers[0]
	}
	return r
}

// serversOf names the servers of results, with the files of the conversation, of which nobody knows
// beside which question they stood; without results, all that is known to have been read.
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
