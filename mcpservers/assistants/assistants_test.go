package assistants_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"molar/mcpservers"
	"molar/mcpservers/assistants"
	"molar/schemas"
)

func call(t *testing.T, d *mcpservers.Dispatcher, params string) (text string, structured assistants.Answer, isError bool) {
	t.Helper()
	answer := d.Handle(t.Context(), "s", json.RawMessage(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":`+params+`}`))
	var res struct {
		Result struct {
			Content           []struct{ Text string }
			StructuredContent assistants.Answer
			IsError           bool
		}
	}
	if err := json.Unmarshal(answer, &res); err != nil || len(res.Result.Content) != 1 {
		t.Fatalf("%v: %s", err, answer)
	}
	return res.Result.Content[0].Text, res.Result.StructuredContent, res.Result.IsError
}

func TestServer(t *testing.T) {
	var asked assistants.Question
	d, err := assistants.New(assistants.Config{
		Assistants: []assistants.Assistant{{"dental", "About teeth."}, {"vườn nhà", ""}},
		Ask: func(_ context.Context, q assistants.Question) (assistants.Answer, error) {
			asked = q
			if q.Text == "fail" {
				return assistants.Answer{}, errors.New("the model cannot be reached")
			}
			return assistants.Answer{Text: "Twice.", ConversationID: "c1", Sources: []schemas.Source{{Title: "A", URL: "https://a.vn"}}}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	text, answer, bad := call(t, d, `{"name":"dental","arguments":{"question":"How often?","conversation_id":"c0"}}`)
	if bad || text != "Twice." || answer.Text != "Twice." || answer.ConversationID != "c1" || len(answer.Sources) != 1 {
		t.Errorf("text %q, answer %+v, error %v", text, answer, bad)
	}
	if asked != (assistants.Question{Assistant: "dental", Text: "How often?", ConversationID: "c0"}) {
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
	ask := func(context.Context, assistants.Question) (assistants.Answer, error) { return assistants.Answer{}, nil }
	for name, cfg := range map[string]assistants.Config{
		"no assistant": {Ask: ask},
		"nobody asks":  {Assistants: []assistants.Assistant{{Name: "a"}}},
		"one name":     {Assistants: []assistants.Assistant{{Name: "a b"}, {Name: "a_b"}}, Ask: ask},
	} {
		if _, err := assistants.New(cfg); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
