package agent

import (
	"slices"
	"strings"

	"molar/agent/history"
	"molar/agent/pause"
	"molar/schemas"
	"molar/toolhandler"
)

// flowOf is what the model reads before any call, whose text it is, and what of it are the
// person's own words. earlier are the rounds of the turn before its client's tools ran.
func (a *Agent) flowOf(w task, q question, past recalled, found findings, earlier []schemas.Round) toolhandler.Flow {
	trusted := a.trusted()
	words := []string{q.typed}
	texts := a.readingsOf(past, trusted)
	for _, x := range past.exchanges {
		words = append(words, x.Question)
	}
	for _, r := range earlier {
		texts = append(texts, resultReadings(r.Results, trusted)...)
	}
	for _, r := range q.read {
		r.Trusted = trusted[r.Server]
		texts = append(texts, r)
	}
	if len(found.read) > 0 {
		texts = append(texts, resultReadings(found.results, trusted)...)
	}
	for _, r := range w.turn.Results {
		r.Server = pause.Client
		texts = append(texts, toolhandler.ReadingOf(r, false))
	}
	return toolhandler.Flow{Readings: texts, Words: words}
}

// readingsOf is what the conversation holds of servers: their results, and the answers and
// the summary, in which their words may stand.
func (a *Agent) readingsOf(past recalled, trusted map[string]bool) []toolhandler.Reading {
	var texts []toolhandler.Reading
	for _, server := range past.read {
		texts = append(texts, toolhandler.Reading{Server: server, Trusted: trusted[server]})
	}
	for _, x := range past.exchanges {
		results := resultsOf(x)
		texts = append(texts, resultReadings(results, trusted)...)
		if len(past.read) > 0 || len(results) > 0 {
			texts = append(texts, retold(x.Answer(), sourcesOf(results, past.read), trusted))
		}
	}
	if past.summary != "" && len(past.read) > 0 {
		texts = append(texts, retold(past.summary, past.read, trusted))
	}
	return texts
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

// sourcesOf names the servers of results, else those that are known to have been read.
func sourcesOf(results []schemas.ToolResult, read []string) []string {
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

func resultReadings(results []schemas.ToolResult, trusted map[string]bool) []toolhandler.Reading {
	var texts []toolhandler.Reading
	for _, r := range results {
		if r.Server != "" {
			texts = append(texts, toolhandler.ReadingOf(r, trusted[r.Server]))
		}
	}
	return texts
}

// trusted are the servers whose texts give no orders, as the operator says.
func (a *Agent) trusted() map[string]bool {
	servers := make(map[string]bool)
	for _, tool := range a.cfg.Tools.Tools() {
		if tool.Rules.Trusted {
			servers[tool.Server] = true
		}
	}
	return servers
}

// textOf is what some messages say.
func textOf(messages []schemas.Message) string {
	var texts []string
	for _, m := range messages {
		texts = append(texts, m.Said())
	}
	return strings.Join(texts, "\n\n")
}
