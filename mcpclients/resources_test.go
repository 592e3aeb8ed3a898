package mcpclients_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A resource is its text, whatever way the server sends it, and never more than a
// tool's result may be.
func TestResource(t *testing.T) {
	checkLeaks(t)
	m := start(t, servers(inProcess(func(_ context.Context, _, method string, params json.RawMessage) string {
		switch {
		case method == "resources/list":
			return `{"resources":[{"uri":"b:2"},{"uri":"a:1"},{"uri":"bad\u001b[2J"},{"uri":"a:1"}],"nextCursor":""}`
		case strings.Contains(string(params), "text:"):
			return `{"contents":[{"uri":"x","text":"one"},{"uri":"x","mimeType":"text/plain","blob":"dHdv"}]}`
		case strings.Contains(string(params), "long:"):
			return `{"contents":[{"uri":"x","text":"` + strings.Repeat("x", 1<<20) + `"}]}`
		}
		return `{"contents":[{"uri":"x","mimeType":"image/png","blob":"AAAA"}]}`
	})))
	if got, err := m.Resource(t.Context(), "memory-server", "text:1"); err != nil || got != "one\ntwo" {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := m.Resource(t.Context(), "memory-server", "long:1"); err != nil || len(got) > 70<<10 {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if _, err := m.Resource(t.Context(), "memory-server", "image:1"); err == nil || !strings.Contains(err.Error(), "holds no text but image/png") {
		t.Errorf("an image: %v", err)
	}
	if _, err := m.Resource(t.Context(), "nobody", "x:1"); err == nil {
		t.Error("a server that is unknown gave a resource")
	}
	if diff := cmp.Diff([]string{"a:1", "b:2"}, m.Resources(t.Context(), "memory-server")); diff != "" {
		t.Errorf("listed (-want +got)\n%s", diff)
	}
}
