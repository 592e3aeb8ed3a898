package ollama

import (
	"encoding/json"
	"testing"

	"github.com/ollama/ollama/api"

	"molar/providers/wire"
	"molar/schemas"
)

// The tools are in the body as encoding/json would write them.
func TestChatRequest_encode(t *testing.T) {
	t.Parallel()
	tools := wire.NewTools(wireName, lowerTool, nil, nil)
	set := tools.Set([]schemas.ToolInfo{
		{Name: "a__find", ToolName: "find", Description: "Finds <b> & \"c\"\u2028", InputSchema: json.RawMessage(`{ "type":"object", "properties": {"q": {"type": "string", "description": "<q>"}} }`)},
		{Name: "a__list", ToolName: "list", InputSchema: json.RawMessage(`{"type":"object"}`)},
	}, nil)
	if len(set) != 2 {
		t.Fatalf("%d tools", len(set))
	}
	for n := range len(set) + 1 {
		chat := &chatRequest{ChatRequest: api.ChatRequest{Model: "m", Options: map[string]any{}}, Tools: set[:n].Wire()}
		got, err := chat.encode()
		if err != nil {
			t.Fatal(err)
		}
		want, err := json.Marshal(struct {
			api.ChatRequest
			Tools []json.RawMessage `json:"tools,omitempty"`
		}{chat.ChatRequest, chat.Tools})
		if err != nil || string(got) != string(want) {
			t.Errorf("%d tools: got\n%s\nwant\n%s, %v", n, got, want, err)
		}
	}
}
