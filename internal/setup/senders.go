package setup

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"molar/internal/config"
	"molar/internal/host"
	"molar/schemas"
	"molar/toolhandler"
)

// Senders notes the tools that only read but can send text in their arguments. It knows the tools
// from the last time that their servers were attached, and none of servers that never were.
func Senders(ctx context.Context, cfg *config.Config) []string {
	tools, err := host.PinnedTools(ctx, cfg)
	if err != nil {
		return nil // no server was attached yet, or another check reports the fault of the store
	}
	return senders(cfg, tools)
}

func senders(cfg *config.Config, tools []schemas.Tool) []string {
	var notes []string
	for _, entry := range cfg.MCPServers {
		var sends, private []string
		for _, t := range tools {
			switch arguments := placesOf(t); {
			case t.Server != entry.Name && !slices.Contains(private, t.Server):
				private = append(private, t.Server)
			case t.Server == entry.Name && len(arguments) > 0 && t.Rules.Policy != schemas.PolicyConfirm && t.Rules.Policy != schemas.PolicyDeny:
				sends = append(sends, t.ToolName+" ("+strings.Join(arguments, ", ")+")")
			}
		}
		if len(sends) > 0 && len(private) > 0 {
			notes = append(notes, fmt.Sprintf("readers of server %s can send what their arguments hold: %s. Plain text of %s asks first, a code of it does not; where the server is not yours, set policy: confirm",
				entry.Name, strings.Join(sends, ", "), strings.Join(private, ", ")))
		}
	}
	return notes
}

// placesOf returns the arguments through which a tool that reads can send text.
func placesOf(t schemas.Tool) []string {
	if class, _ := toolhandler.Classify(t); class != toolhandler.Reads {
		return nil
	}
	var all []string
	for _, a := range toolhandler.Arguments(t) {
		all = append(all, a.Path)
	}
	return all
}
