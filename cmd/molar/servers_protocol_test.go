package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"molar/internal/testkit/stubmcp"
)

// An older server is asked once how it begins: the store remembers the answer for the next start,
// and the list shows the revision.
func TestServersList_RemembersTheProtocol(t *testing.T) {
	t.Parallel()
	_, url := stubServer(t, stubmcp.Config{})
	env := homeEnv(t, nil)
	file := writeFile(t, "molar.yaml", fmt.Sprintf("mcpServers:\n  stub: {url: %q}\n", url))
	for start, asked := range []bool{true, false} {
		var out, trace bytes.Buffer
		if code := execute(t.Context(), []string{"servers", "list", "--trace", "--config", file}, lookup(env), strings.NewReader(""), &out, &trace); code != 0 {
			t.Fatalf("exit code %d: %s", code, trace.String())
		}
		if got := strings.Contains(trace.String(), `"server/discover"`); got != asked {
			t.Errorf("at start %d: asked is %v, want %v:\n%s", start+1, got, asked, trace.String())
		}
		if !strings.Contains(out.String(), "stub ready (http), 7 tools, protocol 2025-06-18\n") {
			t.Errorf("listed %s", out.String())
		}
	}
}
