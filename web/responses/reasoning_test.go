package responses_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"

	"molar/agent"
	"molar/agent/answer"
	"molar/schemas"
	"molar/web"
)

// thinkAndCall plays a turn that thinks, says something if its question asks for that, and calls the
// client's tool with the provider's state, unless it has the result.
func thinkAndCall(_ context.Context, t agent.Turn, say func(answer.Event) bool) error {
	if len(t.Results) > 0 {
		say(text("ok"))
		say(done())
		return nil
	}
	q, _ := t.Question()
	if q != "quietly" {
		say(answer.Event{Kind: answer.KindThinking, Text: "I need it."})
	}
	if q == "aloud" {
		say(text("One moment."))
		say(answer.Event{Kind: answer.KindCommentary, Text: "One moment."})
	}
	calls := []schemas.ToolCall{{ID: "call_1", Function: schemas.FunctionCall{Name: "f", Arguments: `{}`}}}
	states := map[string]*schemas.ProviderState{"call_1": {Provider: "gemini", Data: json.RawMessage(`{"signature":"s1"}`)}}
	say(answer.Event{Kind: answer.KindClientCalls, Calls: calls, States: states})
	say(ended(answer.Done{Finish: "tool_calls", Calls: calls}))
	return nil
}

// The provider's state of a call goes to the client sealed, as encrypted reasoning, and comes back
// with the items that the client sends.
func TestReasoning_Encrypted(t *testing.T) {
	for question, kinds := range map[string][]string{
		"silently": {"reasoning", "function_call"},
		"quietly":  {"reasoning", "function_call"},
		"aloud":    {"reasoning", "message", "reasoning", "function_call"},
	} {
		t.Run(question, func(t *testing.T) {
			h := serveWith(t, thinkAndCall, func(c *web.Config) {
				c.Owner = func(r *http.Request) string { return r.Header.Get("X-Owner") }
			})
			const tools = `"store":false,"include":["reasoning.encrypted_content"],"tools":[{"type":"function","name":"f"}]`
			first := h.create(`{"input":"` + question + `",` + tools + `}`)
			items := []any{object{"role": "user", "content": question}}
			var got []string
			for _, it := range first["output"].([]any) {
				items = append(items, it)
				got = append(got, at(it, "type").(string))
				if sealed, _ := at(it, "encrypted_content").(string); at(it, "type") == "reasoning" && len(sealed) < 30 {
					t.Errorf("the reasoning is %v", it)
				}
			}
			if len(got) != len(kinds) {
				t.Fatalf("output %v, want %v", got, kinds)
			}
			items = append(items, object{"type": "function_call_output", "call_id": "call_1", "output": "found"})
			body := func() string {
				list, err := json.Marshal(items)
				if err != nil {
					t.Fatal(err)
				}
				return `{"input":` + string(list) + `,` + tools + `}`
			}
			h.create(body())
			var state *schemas.ProviderState
			for _, m := range h.turn(1).Messages {
				for _, p := range m.Parts {
					if p.Call != nil {
						state = p.State
					}
				}
			}
			if state == nil || state.Provider != "gemini" || string(state.Data) != `{"signature":"s1"}` {
				t.Errorf("the state came back as %+v", state)
			}
			sealed := items[len(items)-3].(object) // the reasoning before the call
			if status, data := h.doWith(http.MethodPost, "/v1/responses", body(), "X-Owner", "bob"); status != http.StatusBadRequest {
				t.Errorf("sealed for somebody else: status %d: %s", status, data)
			}
			text := sealed["encrypted_content"].(string)
			sealed["encrypted_content"] = text[:20] + "AAAA" + text[24:]
			if status, code, _ := h.refused(body()); status != http.StatusBadRequest || code != "invalid_encrypted_content" {
				t.Errorf("changed: status %d, code %q", status, code)
			}
			delete(sealed, "encrypted_content")
			h.create(body())
		})
	}
}

// Without include there is no sealed content, and no reasoning that would only hold it.
func TestReasoning_NotAskedFor(t *testing.T) {
	h := serve(t, thinkAndCall)
	r := h.create(`{"input":"quietly","tools":[{"type":"function","name":"f"}]}`)
	if n := len(r["output"].([]any)); n != 1 {
		t.Errorf("output %v", r["output"])
	}
	r = h.create(`{"input":"silently","tools":[{"type":"function","name":"f"}]}`)
	if at(r, "output", 0, "encrypted_content") != nil {
		t.Errorf("output %v", r["output"])
	}
}
