package tape_test

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"

	"molar/eval/tape"
	"molar/mcpclients/transport"
)

// listing is a server with one tool.
type listing struct {
	transport.Conn
	tool string
}

func (l listing) Request(context.Context, string, json.RawMessage) (json.RawMessage, error) {
	return json.RawMessage(`{"tools":[` + l.tool + `]}`), nil
}

// TestContract_builtTape: a tape that was made from an import or a trace may have only those
// fields of a tool that a model sees. The others do not count as changed; those that it has are
// compared.
func TestContract_builtTape(t *testing.T) {
	const now = `{"name":"f","inputSchema":{"type":"object"},"outputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}`
	for name, test := range map[string]struct {
		annotations tape.Annotations
		changes     int
	}{
		"without annotations": {tape.Annotations{}, 0},
		"with a title alone":  {tape.Annotations{Title: "F"}, 3}, // the title, the hint, the result
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			built := tape.NewBuilder(&b, tape.Header{TapeID: "t"})
			built.Server("s", []tape.Tool{{Name: "f", InputSchema: json.RawMessage(`{"type":"object"}`), Annotations: test.annotations}})
			built.User("Which?")
			built.ModelAnswer("openai", "answer", tape.WireAnswer{Text: "It."}, "")
			built.Answer("It.")
			p := play(t, b.Bytes(), func(c *tape.PlayerConfig) { c.LiveTools = true })
			if _, err := connect(t, p.Dial(dialTo(listing{tool: now}))).Request(t.Context(), tape.MethodList, nil); err != nil {
				t.Fatal(err)
			}
			if drifts := p.Contract("s"); len(drifts) != test.changes {
				t.Errorf("%d changes, want %d: %+v", len(drifts), test.changes, drifts)
			}
		})
	}
}
