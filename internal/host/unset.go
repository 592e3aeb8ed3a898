package host

import (
	"fmt"

	"molar/internal/config"
)

// MissingVariables notes the servers that cannot be attached until a variable is set.
func MissingVariables(cfg *config.Config) []string {
	var notes []string
	for _, e := range cfg.MCPServers {
		if !e.Value.Disabled && e.Value.Unset != "" {
			notes = append(notes, fmt.Sprintf("server %q is not attached: %s", e.Name, e.Value.Unset))
		}
	}
	return notes
}
