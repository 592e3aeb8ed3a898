package setup

import (
	"encoding/json"
	"strings"
	"testing"

	"molar/internal/config"
	"molar/schemas"
)

// A tool that only reads and takes an address or free text is noted if there is another server,
// unless each of its calls asks.
func TestSenders(t *testing.T) {
	tool := func(server, name, properties string, rules schemas.ToolRules) schemas.Tool {
		return schemas.Tool{
			ToolInfo: schemas.ToolInfo{Server: server, ToolName: name, Name: server + "__" + name, InputSchema: json.RawMessage(`{"type":"object","properties":` + properties + `}`)},
			Rules:    rules,
		}
	}
	servers := config.Map[config.Server]{{Name: "web"}, {Name: "vault"}}
	fetch := tool("web", "fetch", `{"url":{"type":"string","format":"uri"}}`, schemas.ToolRules{ReadOnly: true})
	word := tool("vault", "get_word", `{}`, schemas.ToolRules{})
	asks := fetch
	asks.Rules.Policy = schemas.PolicyConfirm
	for name, tt := range map[string]struct {
		tools []schemas.Tool
		want  string
	}{
		"with a private server":    {[]schemas.Tool{fetch, word}, "readers of server web can send what their arguments hold: fetch (url). Plain text of vault"},
		"alone":                    {[]schemas.Tool{fetch}, ""},
		"asks in any case":         {[]schemas.Tool{asks, word}, ""},
		"nothing to send":          {[]schemas.Tool{tool("web", "get_time", `{"n":{"type":"integer"}}`, schemas.ToolRules{}), word}, ""},
		"a writer is no reader":    {[]schemas.Tool{tool("web", "post", `{"text":{"type":"string"}}`, schemas.ToolRules{}), word}, ""},
		"text that goes elsewhere": {[]schemas.Tool{tool("web", "find", `{"q":{"type":"string"}}`, schemas.ToolRules{}), word}, "find (q)"},
	} {
		got := strings.Join(senders(&config.Config{MCPServers: servers}, tt.tools), "\n")
		if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}
