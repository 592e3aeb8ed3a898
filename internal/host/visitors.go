package host

import (
	"fmt"
	"slices"

	"molar/schemas"
	"molar/toolhandler"
)

// Status returns the states of the servers, with what is withheld from the visitors of the public assistant.
func (h *Host) Status() []schemas.ServerStatus {
	all := h.MCP.Status()
	if !h.Config.Public.On() {
		return all
	}
	tools := h.MCP.Catalogue().Tools()
	for i := range all {
		all[i].Visitors = h.withheldFromVisitors(all[i].Name, tools)
	}
	return all
}

// withheldFromVisitors returns a line for each tool of a server that the public assistant uses and its
// visitors do not get: why, and what to do if they may cause what it does.
func (h *Host) withheldFromVisitors(server string, tools []schemas.Tool) []string {
	assistant, _ := h.Config.Assistants.Get(h.Config.Public.Assistant)
	var lines []string
	for _, t := range tools {
		uses := schemas.MatchGlobs(assistant.Tools, t.Name, t.ToolName) || slices.Contains(assistant.Search, t.Name) || slices.Contains(assistant.Search, t.ToolName)
		if t.Server != server || t.Withheld != "" || t.Rules.Policy == schemas.PolicyDeny || !uses {
			continue
		}
		if why := toolhandler.ForVisitors(t); why != "" {
			lines = append(lines, fmt.Sprintf("%s: %s; if they may cause what it does, set mcpServers.%s.tools.%s.policy to allow", t.ToolName, why, server, t.ToolName))
		}
	}
	return lines
}
