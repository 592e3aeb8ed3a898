package agent

import (
	"fmt"

	"molar/agent/offer"
	"molar/schemas"
)

// mostQuestions is the maximum of first questions made from servers.
const mostQuestions = 3

// firstQuestions returns suggested first questions for an assistant, by language: its topic's,
// else questions for its servers.
func (a *Agent) firstQuestions(as schemas.Assistant) map[string][]string {
	if guard := a.cfg.Guards[as.Topic]; guard != nil {
		if all := guard.Topic().FirstQuestions(); len(all) > 0 {
			return all
		}
	}
	all, seen := map[string][]string{}, map[string]bool{schemas.ToolServer: true}
	for _, tool := range a.cfg.Tools.Tools() {
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
