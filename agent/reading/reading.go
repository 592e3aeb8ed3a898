// Package reading gathers the texts of servers that a model reads in a turn, and whose they are.
package reading

import (
	"slices"

	"molar/agent/history"
	"molar/agent/pause"
	"molar/schemas"
	"molar/toolhandler"
)

// A Conversation is what a model is shown of the turns before.
type Conversation struct {
	Exchanges []history.Exchange
	// Summary stands for all before the exchanges, Read are the servers whose text it has seen.
	Summary string
	Read    []string
	// Trusted are the servers whose texts give no orders, as the operator says.
	Trusted map[string]bool
}

// Readings are what the conversation holds of servers: their results, and the answers and
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

// Client are the results of a client's own tools, which count as a server's.
func Client(results []schemas.ToolResult) []toolhandler.Reading {
	var texts []toolhandler.Reading
	for _, r := range results {
		r.Server = pause.Client
		texts = append(texts, toolhandler.ReadingOf(r, false))
	}
	return texts
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

// serversOf names the servers of results, else those that are known to have been read.
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
	return servers
}

func resultsOf(x history.Exchange) []schemas.ToolResult {
	var all []schemas.ToolResult
	for _, round := range x.Rounds() {
		all = append(all, round.Results...)
	}
	return all
}
