package setup

import (
	"fmt"

	"molar/internal/config"
	"molar/schemas"
)

// openReaders notes the rules under which a tool may be sent text of other servers without a
// question.
func openReaders(cfg *config.Config) []string {
	var notes []string
	attached := 0
	for _, e := range cfg.MCPServers {
		if e.Value.Disabled {
			continue
		}
		attached++
		for _, rule := range e.Value.Tools {
			if rule.Value.Policy == schemas.PolicyAllow {
				notes = append(notes, fmt.Sprintf("tools %s of server %s may be sent text of other servers without a question (policy: allow); molar tools lint lists the arguments", rule.Name, e.Name))
			}
		}
	}
	if attached < 2 {
		return nil
	}
	return notes
}
