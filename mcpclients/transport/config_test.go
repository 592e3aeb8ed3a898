package transport_test

import (
	"testing"

	"molar/mcpclients/transport"
)

// A server is told from another by its place, whatever the secrets in its address or arguments.
func TestServerConfig_Identity(t *testing.T) {
	identity := func(s transport.ServerConfig) string { return s.Identity() }
	maps := identity(transport.ServerConfig{Name: "maps", URL: "https://maps.example/mcp"})
	for _, same := range []string{"https://maps.example/mcp?key=1", "https://ann:secret@maps.example/mcp", "https://maps.example/mcp#x"} {
		if identity(transport.ServerConfig{URL: same}) != maps {
			t.Errorf("%s is another server", same)
		}
	}
	for _, other := range []transport.ServerConfig{
		{URL: "https://maps.example/other"},
		{URL: "http://maps.example/mcp"},
		{URL: "https://maps.example:444/mcp"},
		{URL: "https://maps.example/mcp", Type: transport.TypeSSE},
		{Command: "https://maps.example/mcp"},
	} {
		if identity(other) == maps {
			t.Errorf("%+v is the same server", other)
		}
	}
	if identity(transport.ServerConfig{Command: "npx", Args: []string{"a", "--key=1"}}) != identity(transport.ServerConfig{Command: "npx", Args: []string{"b"}}) {
		t.Error("arguments, which may hold secrets, count")
	}
}
