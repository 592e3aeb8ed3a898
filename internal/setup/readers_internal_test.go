package setup

import (
	"strings"
	"testing"

	"molar/internal/config"
	"molar/schemas"
)

// Rules under which a tool may be sent text of other servers are noted if there is another server.
func TestOpenReaders(t *testing.T) {
	server := func(rules ...config.Entry[config.ToolRule]) config.Server {
		return config.Server{Command: "x", Tools: rules}
	}
	web := config.Entry[config.Server]{Name: "web", Value: server(
		config.Entry[config.ToolRule]{Name: "look", Value: config.ToolRule{Policy: schemas.PolicyAllow}},
		config.Entry[config.ToolRule]{Name: "get_*", Value: config.ToolRule{ReadOnly: true}},
	)}
	vault := config.Entry[config.Server]{Name: "vault", Value: server()}
	off := vault
	off.Value.Disabled = true
	for _, tt := range []struct {
		name    string
		servers config.Map[config.Server]
		want    int
	}{{"with another server", config.Map[config.Server]{web, vault}, 1}, {"alone", config.Map[config.Server]{web}, 0}, {"with a disabled server", config.Map[config.Server]{web, off}, 0}} {
		notes := openReaders(&config.Config{MCPServers: tt.servers})
		if len(notes) != tt.want || tt.want > 0 && !strings.Contains(notes[0], "look of server web may be sent text of other servers without a question (policy: allow)") {
			t.Errorf("%s: %q", tt.name, notes)
		}
	}
}
