package responses_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/agent"
	"molar/agent/answer"
)

func refusal(s string) answer.Event {
	return answer.Event{Kind: answer.KindText, Text: s, Refusal: true}
}

// A format becomes the schema of the turn, and is echoed as it was sent.
func TestCreate_Format(t *testing.T) {
	const schema = `{"type":"object","properties":{"n":{"type":"number"}},"required":["n"],"additionalProperties":false}`
	for _, tt := range []struct{ format, echo, schema string }{
		{`{"type":"text"}`, `{"type":"text"}`, ``},
		{`{"type":"json_object"}`, `{"type":"json_object"}`, `{"type":"object"}`},
		{
			`{"type":"json_schema","name":"n","strict":true,"schema":` + schema + `}`,
			`{"type":"json_schema","name":"n","strict":true,"description":null,"schema":` + schema + `}`, schema,
		},
		{
			`{"type":"json_schema","name":"n","description":"a \"number\"","schema":` + schema + `}`,
			`{"type":"json_schema","name":"n","strict":false,"description":"a \"number\"","schema":` + schema + `}`, `{"description":"a \"number\"",` + schema[1:],
		},
		{
			`{"type":"json_schema","name":"n","description":"a","schema":{"description":"b"}}`,
			`{"type":"json_schema","name":"n","strict":false,"description":"a","schema":{"description":"b"}}`, `{"description":"b"}`,
		},
		{
			`{"type":"json_schema","name":"n","description":"a","schema":{}}`,
			`{"type":"json_schema","name":"n","strict":false,"description":"a","schema":{}}`, `{}`,
		},
	} {
		h := serve(t, play(text(`{"n":7}`), done()))
		r := h.create(`{"model":"dental","input":"x","text":{"format":` + tt.format + `}}`)
		var want any
		if err := json.Unmarshal([]byte(tt.echo), &want); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, at(r, "text", "format")); diff != "" {
			t.Errorf("%s is echoed (-want +got):\n%s", tt.format, diff)
		}
		if got := string(h.turn(0).Schema); got != tt.schema || h.turn(0).Form != "" {
			t.Errorf("%s: schema %s, want %s, form %q", tt.format, got, tt.schema, h.turn(0).Form)
		}
	}
}

// A text of the host in place of JSON is a refusal: at once, streamed, read again, replayed, and sent
// back as history.
func TestCreate_Refusal(t *testing.T) {
	h := serve(t, play(refusal("Only "), refusal("teeth."), ended(answer.Done{Finish: "stop", Refused: true})))
	const body = `"model":"dental","input":"x","text":{"format":{"type":"json_object"}}}`
	r := h.create(`{` + body)
	want := []any{object{"type": "refusal", "refusal": "Only teeth."}}
	if diff := cmp.Diff(want, at(r, "output", 0, "content")); diff != "" || r["status"] != "completed" {
		t.Errorf("%v %s", r["status"], diff)
	}
	id := r["id"].(string)
	if diff := cmp.Diff(want, at(h.get(id), "output", 0, "content")); diff != "" {
		t.Errorf("read again: %s", diff)
	}
	events := types(h.stream(`{"stream":true,` + body))
	if diff := cmp.Diff([]string{
		"response.output_item.added", "response.content_part.added", "response.refusal.delta", "response.refusal.delta",
		"response.refusal.done", "response.content_part.done", "response.output_item.done", "response.completed",
	}, events[2:]); diff != "" {
		t.Error(diff)
	}
	replayed := types(h.events("GET", "/v1/responses/"+id+"?stream=true", ""))
	if slices.Contains(replayed, "response.output_text.delta") || !slices.Contains(replayed, "response.refusal.done") {
		t.Errorf("replayed: %v", replayed)
	}
	h.create(fmt.Sprintf(`{"previous_response_id":%q,%s`, id, body))
	said := h.turn(2).Messages
	if len(said) == 0 {
		t.Fatal("no history")
	}
	h.create(`{"model":"dental","input":[{"role":"user","content":"x"},{"type":"message","role":"assistant","content":[{"type":"refusal","refusal":"Only teeth."}]},{"role":"user","content":"y"}]}`)
	if said := h.turn(3).Messages; len(said) != 3 || said[1].Said() != "Only teeth." {
		t.Errorf("history %+v", said)
	}
}

// A turn whose answer keeps to no schema is a failed response.
func TestCreate_SchemaMismatch(t *testing.T) {
	mismatch := fmt.Errorf("%w: at /n: got string, want number", agent.ErrSchema)
	h := serve(t, func(_ context.Context, _ agent.Turn, say func(answer.Event) bool) error {
		say(answer.Event{Kind: answer.KindThinking, Text: "Hm."})
		return mismatch
	})
	const body = `"model":"dental","input":"x","text":{"format":{"type":"json_object"}}}`
	status, data := h.do("POST", "/v1/responses", `{`+body)
	if status != 502 || !strings.Contains(string(data), `"code":"model_schema_mismatch"`) || !strings.Contains(string(data), `"type":"model_error"`) {
		t.Errorf("%d %s", status, data)
	}
	events := h.stream(`{"stream":true,` + body)
	last := events[len(events)-1]
	if last["type"] != "response.failed" || at(last, "response", "error", "code") != "model_schema_mismatch" {
		t.Errorf("%v", last)
	}
}
