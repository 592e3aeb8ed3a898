package serve

import (
	"fmt"

	"molar/agent"
	"molar/agent/offer"
	"molar/internal/host"
	"molar/schemas"
)

// mostQuestions is the maximum of first questions made from servers.
const mostQuestions = 3

// firstQuestions returns suggested first questions for an assistant, by language: its topic's,
// else questions for its servers.
func (p *port) firstQuestions(as agent.Assistant) map[string][]string {
	if all := p.Agent.FirstQuestions(as.Topic); len(all) > 0 {
		return all
	}
	all, seen := map[string][]string{}, map[string]bool{schemas.ToolServer: true}
	for _, tool := range (host.Catalogue{Manager: p.MCP}).Tools() {
		if seen[tool.Server] || !offer.Globs(as.Tools).MayCall(tool.ToolInfo) {
			continue
		}
		seen[tool.Server] = true
		all["en"] = append(all["en"], fmt.Sprintf("What can I do with the tools of %s?", tool.Server))
		all["vi"] = append(all["vi"], fmt.Sprintf("Tôi làm được gì với các công cụ của %s?", tool.Server))
		if len(seen) > mostQuestions {
			break
		}
	}
	return all
}
