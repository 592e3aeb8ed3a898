package mcpclients_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/mcpclients"
	"molar/schemas"
)

// A resource is returned as text, in whatever form the server sends it, with the same limit as a
// tool's result.
func TestResource(t *testing.T) {
	asked := ""
	m := start(t, servers(inProcess(func(_ context.Context, _, method string, params json.RawMessage) string {
		switch {
		case method == "resources/list":
			return `{"resources":[{"uri":"b:2"},{"uri":"a:1"},{"uri":"bad\u001b[2J"},{"uri":"a:1"}],"nextCursor":""}`
		case method == "resources/templates/list":
			return `{"resourceTemplates":[{"uriTemplate":"tooth://{jaw}/{number}","name":"A tooth"},{"uriTemplate":"bad {x}"}]}`
		case method == "completion/complete":
			asked = string(params)
			return `{"completion":{"values":["upper left","bad\u001b[2J","upper right"],"total":3}}`
		case strings.Contains(string(params), "text:"):
			return `{"contents":[{"uri":"x","text":"one"},{"uri":"x","mimeType":"text/plain","blob":"dHdv"}]}`
		case strings.Contains(string(params), "long:"):
			return `{"contents":[{"uri":"x","text":"` + strings.Repeat("x", 9<<20) + `"}]}`
		}
		if strings.Contains(string(params), "zip:") {
			return `{"contents":[{"uri":"x","mimeType":"application/zip","blob":"AAAA"}]}`
		}
		return `{"contents":[{"uri":"x","mimeType":"image/png","blob":"AAAA"}]}`
	})))
	if got, files, err := m.Resource(t.Context(), schemas.Caller{}, "memory-server", "text:1"); err != nil || got != "one\ntwo" || files != nil {
		t.Errorf("%q, %v, %v", got, files, err)
	}
	if got, _, err := m.Resource(t.Context(), schemas.Caller{}, "memory-server", "long:1"); err != nil || len(got) > 8<<20 {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if got, files, err := m.Resource(t.Context(), schemas.Caller{}, "memory-server", "image:1"); err != nil || len(files) != 1 || files[0].Text != "data:image/png;base64,AAAA" || !strings.Contains(got, "image/png, 3 bytes") {
		t.Errorf("an image: %q, %v, %v", got, files, err)
	}
	if _, _, err := m.Resource(t.Context(), schemas.Caller{}, "memory-server", "zip:1"); err == nil || !strings.Contains(err.Error(), "holds no text but application/zip") {
		t.Errorf("an archive: %v", err)
	}
	if _, _, err := m.Resource(t.Context(), schemas.Caller{}, "nobody", "x:1"); err == nil {
		t.Error("a server that is unknown gave a resource")
	}
	if diff := cmp.Diff([]mcpclients.Address{{URI: "a:1"}, {URI: "b:2"}}, m.Resources(t.Context(), schemas.Caller{}, "memory-server")); diff != "" {
		t.Errorf("listed (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]mcpclients.Address{{URI: "tooth://{jaw}/{number}", Name: "A tooth"}}, m.Templates(t.Context(), schemas.Caller{}, "memory-server")); diff != "" {
		t.Errorf("templates (-want +got)\n%s", diff)
	}
	typed := mcpclients.Typed{Template: "tooth://{jaw}/{number}", Argument: "number", Value: "3", Others: map[string]string{"jaw": "upper"}}
	if diff := cmp.Diff([]string{"upper left", "upper right"}, m.Complete(t.Context(), schemas.Caller{}, "memory-server", typed)); diff != "" {
		t.Errorf("completed (-want +got)\n%s", diff)
	}
	if want := `{"argument":{"name":"number","value":"3"},"context":{"arguments":{"jaw":"upper"}},"ref":{"type":"ref/resource","uri":"tooth://{jaw}/{number}"}}`; asked != want {
		t.Errorf("asked %s, want %s", asked, want)
	}
	m.Complete(t.Context(), schemas.Caller{}, "memory-server", mcpclients.Typed{Prompt: "record", Argument: "uuid"})
	if want := `{"argument":{"name":"uuid","value":""},"ref":{"name":"record","type":"ref/prompt"}}`; asked != want {
		t.Errorf("asked %s, want %s", asked, want)
	}
	if got := m.Complete(t.Context(), schemas.Caller{}, "nobody", typed); got != nil {
		t.Errorf("a server that is unknown proposed %v", got)
	}
}
