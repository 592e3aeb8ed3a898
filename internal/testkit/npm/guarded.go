package npm

import (
	_ "embed"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

//go:embed guarded/guarded.mjs
var guardedScript []byte

// A Guarded is a running MCP server that wants each person's own token of a [Provider]. Its tool "whoami",
// its prompt "greet" and its resource "card://me" name the person.
type Guarded struct {
	// URL is its address.
	URL string

	mu   sync.Mutex
	sent strings.Builder
}

// StartGuarded starts the server. Without node or the packages the test is skipped, as [Installed] says.
func (p *Provider) StartGuarded(t testing.TB) *Guarded {
	t.Helper()
	modules := filepath.Dir(filepath.Dir(Installed(t, "npm", "node_modules", "@modelcontextprotocol", "sdk")))
	url, out, stop := startScript(t, guardedScript, modules, p.Issuer)
	g := &Guarded{URL: url}
	read := make(chan struct{})
	go func() {
		defer close(read)
		for {
			line, err := out.ReadString('\n')
			g.mu.Lock()
			g.sent.WriteString(line)
			g.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		stop()
		<-read
	})
	return g
}

// Sent returns the headers of all requests so far, a line of JSON for each.
func (g *Guarded) Sent() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.sent.String()
}
