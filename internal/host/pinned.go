package host

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"molar/internal/config"
	"molar/internal/store"
	"molar/schemas"
)

// PinnedTools returns the tools of the configured servers as last seen, with the rules of the
// config; a server that was never attached has none. It starts no server.
func PinnedTools(ctx context.Context, cfg *config.Config) ([]schemas.Tool, error) {
	db, err := store.Open(ctx, store.Config{Path: cfg.Database(), MustExist: true, AsIs: true})
	if err != nil {
		return nil, err
	}
	defer db.Close()
	kept, err := db.ToolDecisions(ctx)
	if err != nil {
		return nil, err
	}
	var tools []schemas.Tool
	for _, entry := range cfg.MCPServers {
		server := ServerConfig(entry.Name, entry.Value)
		pins := kept.Pins[entry.Name]
		for _, name := range slices.Sorted(maps.Keys(pins)) {
			_, definition, _ := strings.Cut(pins[name], " ")
			t := schemas.Tool{Rules: server.Rule(name)}
			if entry.Value.Disabled || json.Unmarshal([]byte(definition), &t.ToolInfo) != nil {
				continue
			}
			t.Server, t.ToolName = entry.Name, name
			tools = append(tools, t)
		}
	}
	return tools, nil
}
