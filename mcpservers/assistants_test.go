package mcpservers_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"molar/mcpservers"
	"molar/schemas"
)

func call(t *testing.T, d *mcpservers.Dispatcher, params string) (text string, structured mcpservers.Answer, isError bool) {
	t.Helper()
	answer := d.Handle(t.Context(), "s", json.RawMessage(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":`+params+`}`))
	var res struct {
		Result struct {
			Content           []struct{ Text string }
			StructuredContent mcpservers.Answer
			IsError           bool
		}
	}
	if err := json.Unmarshal(answer, &res); err != nil || len(res.Result.Content) != 1 {
		t.Fatalf("%v: %s", err, answer)
	}
	return res.Result.Content[0].Text, res.Result.StructuredContent, res.Result.IsError
}

func TestServer(t *testing.T) {
	var asked mcpservers.Question
	d, err := mcpservers.NewAssistants(mcpservers.AssistantsConfig{
		Assistants: []schemas.AssistantInfo{{Name: "dental", Description: "About teeth."}, {Name: "vườn nhà", Description: ""}},
		Ask: func(_ context.Context, q mcpservers.Question) (mcpservers.Answer, error) {
			asked = q
			if q.Text == "fail" {
				return mcpservers.Answer{}, errors.New("the model cannot be reached")
			}
			return mcpservers.Answer{Text: "Twice.", ConversationID: "c1", Sources: []schemas.Source{{Title: "A", URL: "https://a.vn"}}}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	text, answer, bad := call(t, d, `{"name":"dental","arguments":{"question":"How often?","conversation_id":"c0"}}`)
	if bad || text != "Twice." || answer.Text != "Twice." || answer.ConversationID != "c1" || len(answer.Sources) != 1 {
		t.Errorf("text %q, answer %+v, error %v", text, answer, bad)
	}
	if asked != (mcpservers.Question{Assistant: "dental", Text: "How often?", ConversationID: "c0"}) {
		t.Errorf("asked %+v", asked)
	}
	if _, _, bad := call(t, d, `{"name":"v__n_nh_","arguments":{"question":"x"}}`); bad || asked.Assistant != "vườn nhà" {
		t.Errorf("an assistant of another name was asked: %+v", asked)
	}
	if text, _, bad := call(t, d, `{"name":"dental","arguments":{"question":"fail"}}`); !bad || text != "the model cannot be reached" {
		t.Errorf("text %q, error %v", text, bad)
	}
	if _, _, bad := call(t, d, `{"name":"dental","arguments":{"question":" "}}`); !bad {
		t.Error("a question without text was asked")
	}
}

func TestNew_RejectsWhatCannotBeCalled(t *testing.T) {
	ask := func(context.Context, mcpservers.Question) (mcpservers.Answer, error) { return mcpservers.Answer{}, nil }
	for name, cfg := range map[string]mcpservers.AssistantsConfig{
		"no assistant": {Ask: ask},
		"nobody asks":  {Assistants: []schemas.AssistantInfo{{Name: "a"}}},
		"one name":     {Assistants: []schemas.AssistantInfo{{Name: "a b"}, {Name: "a_b"}}, Ask: ask},
	} {
		if _, err := mcpservers.NewAssistants(cfg); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
