package web_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/agent/answer"
	"molar/providers"
	"molar/schemas"
)

// deltas returns the choices of a stream as JSON, without the fields that all chunks share.
func deltas(t *testing.T, body string) []string {
	t.Helper()
	var all []string
	for line := range strings.SplitSeq(body, "\n") {
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok || data == "[DONE]" {
			continue
		}
		var c struct {
			Choices []json.RawMessage `json:"choices"`
		}
		if err := json.Unmarshal([]byte(data), &c); err != nil {
			t.Fatalf("%v: %s", err, data)
		}
		for _, choice := range c.Choices {
			all = append(all, string(choice))
		}
	}
	return all
}

// Calls that the client has to run have the exact form of OpenAI's API, in a stream and whole.
func TestChat_ClientCalls(t *testing.T) {
	calls := []schemas.ToolCall{
		{ID: "a", Function: schemas.FunctionCall{Name: "f", Arguments: `{"q":"Lê \"x\""}`}},
		{ID: "b", Function: schemas.FunctionCall{Name: "g", Arguments: `{}`}},
	}
	h := handler(t, play(nil, start(), toolCall(), toolResult(), answer.Event{Kind: answer.KindClientCalls, Calls: calls},
		answer.Event{Kind: answer.KindDone, Done: &answer.Done{Finish: providers.FinishToolCalls, Calls: calls}}))
	want := []string{
		`{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}`,
		`{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":""}}]},"finish_reason":null}`,
		`{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"q\":\"Lê \\\"x\\\"\"}"}}]},"finish_reason":null}`,
		`{"index":0,"delta":{"tool_calls":[{"index":1,"id":"b","type":"function","function":{"name":"g","arguments":""}}]},"finish_reason":null}`,
		`{"index":0,"delta":{"tool_calls":[{"index":1,"function":{"arguments":"{}"}}]},"finish_reason":null}`,
		`{"index":0,"delta":{},"finish_reason":"tool_calls"}`,
	}
	if diff := cmp.Diff(want, deltas(t, post(h, `{"stream":true,`+question+`}`).Body.String())); diff != "" {
		t.Error(diff)
	}
	whole := post(h, `{`+question+`}`).Body.String()
	if !strings.Contains(whole, `"message":{"role":"assistant","content":null,"refusal":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{\"q\":\"Lê \\\"x\\\"\"}"}},{"id":"b",`) ||
		!strings.Contains(whole, `"finish_reason":"tool_calls"`) {
		t.Error(whole)
	}
}

// Reasoning is in its own field, which is absent if there is none.
func TestChat_Reasoning(t *testing.T) {
	h := handler(t, play(nil, start(), answer.Event{Kind: answer.KindThinking, Text: "hm\n"}, text("a"), done()))
	want := []string{
		`{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}`,
		`{"index":0,"delta":{"reasoning_content":"hm\n"},"finish_reason":null}`,
		`{"index":0,"delta":{"content":"a"},"finish_reason":null}`,
		`{"index":0,"delta":{},"finish_reason":"stop"}`,
	}
	if diff := cmp.Diff(want, deltas(t, post(h, `{"stream":true,`+question+`}`).Body.String())); diff != "" {
		t.Error(diff)
	}
	if whole := post(h, `{`+question+`}`).Body.String(); !strings.Contains(whole, `"content":"a","refusal":null,"reasoning_content":"hm\n"}`) {
		t.Error(whole)
	}
}

// The results in the last messages of a request are given to the turn.
func TestChat_Results(t *testing.T) {
	k := &keep{}
	post(handler(t, k), `{"tools":[{"type":"function","function":{"name":"f"}}],"messages":[{"role":"user","content":"a"},
		{"role":"assistant","content":null,"tool_calls":[{"id":"x","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"y","type":"function","function":{"name":"f","arguments":"{}"}}]},
		{"role":"tool","tool_call_id":"x","name":"f","content":[{"type":"text","text":"one"}]},{"role":"tool","tool_call_id":"y","content":"{\"n\":2}"}]}`)
	want := []schemas.ToolResult{
		{ToolName: "f", ID: "x", Output: json.RawMessage(`"one"`)}, {ToolName: "f", ID: "y", Output: json.RawMessage(`{"n":2}`)},
	}
	if diff := cmp.Diff(want, k.turn.Results); diff != "" || !k.turn.Stateless {
		t.Errorf("stateless %v %s", k.turn.Stateless, diff)
	}
}
