package responses_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/agent"
	"molar/agent/answer"
	"molar/providers"
	"molar/schemas"
)

func TestCreate_Whole(t *testing.T) {
	h := serve(t, play(text("Brush "), text("twice."), done()))
	r := h.create(`{"model":"dental","input":"How often?","instructions":"Be brief.","metadata":{"a":"b"},"temperature":0.5}`)
	if r["status"] != "completed" || r["model"] != "dental" || r["instructions"] != "Be brief." || at(r, "metadata", "a") != "b" || r["temperature"] != 0.5 {
		t.Errorf("response %v", r)
	}
	if got := at(r, "output", 0, "content", 0, "text"); got != "Brush twice." {
		t.Errorf("text %v", got)
	}
	if at(r, "output", 0, "phase") != "final_answer" || at(r, "usage", "input_tokens_details", "cached_tokens") != 1.0 {
		t.Errorf("response %v", r)
	}
	turn := h.turn(0)
	if turn.System != "Be brief." || turn.Stateless || *turn.Temperature != 0.5 {
		t.Errorf("turn %+v", turn)
	}
	if q, _ := turn.Question(); q != "How often?" {
		t.Errorf("question %q", q)
	}
}

func TestCreate_Stream(t *testing.T) {
	h := serve(t, play(text("Brush "), text("twice."), done()))
	events := h.stream(`{"model":"dental","input":"How often?","stream":true}`)
	want := []string{
		"response.created", "response.in_progress", "response.output_item.added", "response.content_part.added",
		"response.output_text.delta", "response.output_text.delta", "response.output_text.done",
		"response.content_part.done", "response.output_item.done", "response.completed",
	}
	if diff := cmp.Diff(want, types(events)); diff != "" {
		t.Error(diff)
	}
	if got := at(events[9], "response", "output", 0, "content", 0, "text"); got != "Brush twice." {
		t.Errorf("the last event holds %v", got)
	}
}

// Commentary before a call and reasoning are separate items.
func TestCreate_CommentaryReasoningAndCalls(t *testing.T) {
	call := schemas.ToolCall{ID: "k1", Function: schemas.FunctionCall{Name: "family__find", Arguments: `{"q":"Lê"}`}}
	h := serve(t, play(
		answer.Event{Kind: answer.KindThinking, Text: "I look."}, text("One moment."),
		answer.Event{Kind: answer.KindCommentary, Text: "One moment."}, text("\n\n"),
		answer.Event{Kind: answer.KindToolCall, Step: "6.3", Call: &call, Server: "family", ToolName: "find"},
		answer.Event{Kind: answer.KindToolResult, Step: "6.3", Call: &call, Server: "family", ToolName: "find", Result: &schemas.ToolResult{ID: "k1", Output: []byte(`{"n":1}`)}},
		text("There is one."), done(),
	))
	r := h.create(`{"model":"dental","input":"Who?"}`)
	var kinds []string
	for _, it := range r["output"].([]any) {
		kinds = append(kinds, at(it, "type").(string))
	}
	if diff := cmp.Diff([]string{"reasoning", "message", "mcp_call", "message"}, kinds); diff != "" {
		t.Fatal(diff)
	}
	if at(r, "output", 1, "phase") != "commentary" || at(r, "output", 3, "content", 0, "text") != "There is one." {
		t.Errorf("output %v", r["output"])
	}
	if at(r, "output", 2, "output") != `{"n":1}` || at(r, "output", 2, "server_label") != "family" || at(r, "output", 2, "name") != "find" || at(r, "output", 2, "status") != "completed" {
		t.Errorf("call %v", at(r, "output", 2))
	}
	events := types(h.stream(`{"model":"dental","input":"Who?","stream":true,"reasoning":{"summary":"auto"}}`))
	want := []string{
		"response.created", "response.in_progress",
		"response.output_item.added", "response.reasoning_summary_part.added", "response.reasoning_summary_text.delta",
		"response.reasoning_summary_text.done", "response.reasoning_summary_part.done", "response.output_item.done",
		"response.output_item.added", "response.content_part.added", "response.output_text.delta",
		"response.output_text.done", "response.content_part.done", "response.output_item.done",
		"response.output_item.added", "response.mcp_call.in_progress", "response.mcp_call_arguments.delta", "response.mcp_call_arguments.done",
		"response.mcp_call.completed", "response.output_item.done",
		"response.output_item.added", "response.content_part.added", "response.output_text.delta",
		"response.output_text.done", "response.content_part.done", "response.output_item.done", "response.completed",
	}
	if diff := cmp.Diff(want, events); diff != "" {
		t.Error(diff)
	}
}

// The offsets of a citation are those of its link, in characters.
func TestCreate_Citations(t *testing.T) {
	sources := []schemas.Source{{Title: `Răng [sữa]`, URL: "https://a.vn/1"}, {Title: "B", URL: "https://b.vn"}}
	body := "Đánh răng hai lần.\n\nNguồn:\n\n1. [Răng \\[sữa\\]](https://a.vn/1)\n2. [B](https://b.vn)"
	h := serve(t, play(text(body), answer.Event{Kind: answer.KindSources, Sources: sources}, done()))
	r := h.create(`{"model":"dental","input":"Mấy lần?"}`)
	content := at(r, "output", 0, "content", 0).(object)
	annotations := content["annotations"].([]any)
	if len(annotations) != 2 {
		t.Fatalf("annotations %v", annotations)
	}
	chars := []rune(content["text"].(string))
	for i, want := range []string{`[Răng \[sữa\]](https://a.vn/1)`, "[B](https://b.vn)"} {
		start, end := int(at(annotations[i], "start_index").(float64)), int(at(annotations[i], "end_index").(float64))
		if got := string(chars[start:end]); got != want {
			t.Errorf("citation %d covers %q, want %q", i, got, want)
		}
	}
	events := types(h.stream(`{"model":"dental","input":"Mấy lần?","stream":true}`))
	i, j := slices.Index(events, "response.output_text.annotation.added"), slices.Index(events, "response.output_text.done")
	if i < 0 || i > j {
		t.Errorf("no annotation before the end of the text: %v", events)
	}
}

func TestCreate_Endings(t *testing.T) {
	tests := map[string]struct {
		done           answer.Done
		status, reason any
	}{
		"length":  {answer.Done{Finish: providers.FinishLength}, "incomplete", "max_output_tokens"},
		"filter":  {answer.Done{Finish: providers.FinishContentFilter}, "incomplete", "content_filter"},
		"refused": {answer.Done{Finish: "stop", Refused: true}, "completed", nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			h := serve(t, play(text("So far"), ended(tt.done)))
			r := h.create(`{"model":"dental","input":"?"}`)
			if r["status"] != tt.status || at(r, "incomplete_details", "reason") != tt.reason {
				t.Errorf("status %v, details %v", r["status"], r["incomplete_details"])
			}
			if refused, _ := at(r, "molar", "refused").(bool); refused != tt.done.Refused {
				t.Errorf("molar %v", r["molar"])
			}
		})
	}
}

// A failure is answered with a status while nothing was sent; later it is an event, and the
// response has failed.
func TestCreate_Failures(t *testing.T) {
	broken := &providers.Error{Kind: providers.KindUnavailable, Provider: "ollama", Status: 500, Err: errors.New("out of order")}
	h := serve(t, func(_ context.Context, turn agent.Turn, say func(answer.Event) bool) error {
		if q, _ := turn.Question(); q == "later" {
			say(text("So far"))
		}
		return broken
	})
	for _, body := range []string{`{"input":"at once"}`, `{"input":"at once","stream":true}`, `{"input":"later"}`} {
		if status, code, _ := h.refused(body); status != http.StatusBadGateway || code != "model_failed" {
			t.Errorf("%s: status %d, code %q", body, status, code)
		}
	}
	events := h.stream(`{"input":"later","stream":true}`)
	kinds := types(events)
	if got := kinds[len(kinds)-2:]; got[0] != "error" || got[1] != "response.failed" {
		t.Errorf("the stream ends with %v", got)
	}
	last := events[len(events)-1]
	if at(last, "response", "status") != "failed" || at(last, "response", "error", "code") != "model_failed" || at(last, "response", "output", 0, "status") != "incomplete" {
		t.Errorf("last event %v", last)
	}
}

func TestCreate_RefusesByName(t *testing.T) {
	h := serve(t, play(done()))
	tests := []struct{ body, param string }{
		{`{}`, "input"},
		{`{"input":[]}`, "input"},
		{`{"input":"x","prompt":{"id":"p"}}`, "prompt"},
		{`{"input":"x","top_logprobs":2}`, "top_logprobs"},
		{`{"input":"x","presence_penalty":1}`, "presence_penalty"},
		{`{"input":"x","service_tier":"flex"}`, "service_tier"},
		{`{"input":"x","include":["message.output_text.logprobs"]}`, "include"},
		{`{"input":"x","max_output_tokens":3}`, "max_output_tokens"},
		{`{"input":"x","max_tool_calls":0}`, "max_tool_calls"},
		{`{"input":"x","truncation":"half"}`, "truncation"},
		{`{"input":"x","background":true,"store":false}`, "background"},
		{`{"input":"x","text":{"format":{"type":"grammar"}}}`, "text.format.type"},
		{`{"input":"x","tools":[{"type":"telepathy"}]}`, "tools[0].type"},
		{`{"input":"x","tools":[{"type":"image_generation"}],"tool_choice":"required"}`, "tools[0].type"},
		{`{"input":"x","tools":[{"type":"image_generation"}],"tool_choice":{"type":"image_generation"}}`, "tool_choice.type"},
		{`{"input":"x","tool_choice":{"type":"allowed_tools","mode":"required","tools":[{"type":"code_interpreter"}]}}`, "tool_choice.tools[0].type"},
		{`{"input":"x","tool_choice":{"type":"function"}}`, "tool_choice.name"},
		{`{"input":"x","tools":[{"type":"function","name":"f","parameters":{"type":"nope"}}]}`, "tools[0].parameters"},
		{`{"input":"x","tools":[{"type":"namespace","name":"n","tools":[{"type":"function","name":"f","parameters":{"properties":[]}}]}]}`, "tools[0].tools[0].parameters"},
		{`{"input":"x","text":{"format":{"type":"json_schema","name":"n","schema":{"properties":{"a":{"type":"zz"}}}}}}`, "text.format.schema"},
		{`{"input":"x","text":{"format":{"type":"json_schema","name":"n"}}}`, "text.format.schema"},
		{`{"input":"x","tools":[{"type":"mcp","server_label":"family","allowed_tools":["nope"]}]}`, "tools[0].allowed_tools"},
		{`{"input":"x","tools":[{"type":"mcp","server_label":"family","require_approval":{"always":{"tool_names":["nope"]}}}]}`, "tools[0].require_approval"},
		{`{"input":"x","user":5}`, "user"},
		{`{"input":"x","stream":"maybe"}`, "stream"},
		{`{"input":"x","reasoning":{"summary":"x"}}`, "reasoning.summary"},
		{`{"input":"x","context_management":[{"type":"compaction"}]}`, "context_management"},
		{`{"input":"x","moderation":{"model":"m"}}`, "moderation"},
		{`{"input":"x","unknown_field":1}`, "unknown_field"},
		{`{"input":"x","Model":"dental"}`, "Model"},
		{`{"input":"x","include":["nope"]}`, "include"},
		{`{"input":"x","tools":[{"type":"namespace","name":"a b","tools":[]}]}`, "tools[0].name"},
		{`{"input":"x","tools":[{"type":"namespace","name":"a","tools":[{"type":"function","name":"?"}]}]}`, "tools[0].tools[0].name"},
		{`{"input":"x","tools":[{"type":"function","name":"a__b"},{"type":"namespace","name":"a","tools":[{"type":"function","name":"b"}]}]}`, "tools[1].tools[0].name"},
		{`{"input":"x","tools":[{"type":"mcp","server_label":"family","server_url":"http://x"}]}`, "tools[0].server_url"},
		{`{"input":"x","tools":[{"type":"mcp","server_label":"other"}]}`, "tools[0].server_label"},
		{`{"input":"x","tool_choice":{"type":"custom","name":"x"}}`, "tool_choice.type"},
		{`{"input":[{"type":"message","role":"user","content":[{"type":"input_video","video_url":"x"}]}]}`, "input[0].content[0].type"},
		{`{"input":[{"type":"message","role":"user","content":[{"type":"input_file","file_id":"f"}]}]}`, "input[0].content[0].file_id"},
		{`{"input":[{"type":"function_call_output","call_id":"k","output":"x"}]}`, "input[0].call_id"},
		{`{"input":[{"type":"item_reference","id":"msg_x_0"}]}`, "input[0].id"},
		{`{"input":[{"role":"user","content":"a"},{"type":"function_call","call_id":"k","name":"f","arguments":"{}"},{"role":"user","content":"b"}]}`, "input"},
		{`{"input":"x","previous_response_id":"resp_none"}`, "previous_response_id"},
		{`{"input":"x","conversation":"a b"}`, "conversation"},
	}
	for _, tt := range tests {
		if status, _, param := h.refused(tt.body); status != http.StatusBadRequest || param != tt.param {
			t.Errorf("%s: status %d, param %q, want 400 and %q", tt.body, status, param, tt.param)
		}
	}
	if _, code, _ := h.refused(`{"input":"x","previous_response_id":"resp_none"}`); code != "previous_response_not_found" {
		t.Errorf("code %q", code)
	}
	if n := len(h.asked); n != 0 {
		t.Errorf("%d turns were begun", n)
	}
}

// What OpenAI's clients send and what has no effect here is taken.
func TestCreate_WithoutEffect(t *testing.T) {
	h := serve(t, play(text("ok"), done()))
	h.create(`{"input":"x","user":"u","prompt_cache_retention":"24h","prompt_cache_options":{"mode":"implicit"},"stream_options":null,"client_metadata":{"a":"b"},
		"reasoning":{"effort":"high","summary":"auto","context":"auto"},"moderation":null,"context_management":null,
		"include":["message.input_image.image_url","code_interpreter_call.outputs","computer_call_output.output.image_url","web_search_call.action.sources"],
		"tools":[{"type":"function","name":"old","parameters":{"$schema":"http://json-schema.org/draft-07/schema#","type":"array","items":[{"type":"string"}]}},
			{"type":"function","name":"older","parameters":{"type":"number","minimum":1,"exclusiveMinimum":true}}]}`)
	if n := len(h.turn(0).ClientTools); n != 2 {
		t.Errorf("%d tools", n)
	}
	// Newer than the document of the standard.
	if status, data := h.do(http.MethodPost, "/v1/responses", `{"input":"x","reasoning":{"effort":"max"}}`); status != http.StatusOK || h.turn(1).Thinking != schemas.ThinkingHigh {
		t.Errorf("status %d: %s", status, data)
	}
}

// A query that a route does not understand is refused, not ignored.
func TestQuery_Refused(t *testing.T) {
	h := serve(t, play(text("ok"), done()))
	r := h.create(`{"input":"x"}`)
	response := "/v1/responses/" + id(r)
	items := "/v1/conversations/" + at(r, "molar", "conversation_id").(string) + "/items"
	for path, want := range map[string]int{
		response + "?stream=maybe": 400, response + "?stream=false": 200, response + "?include=nope": 400, response + "?include[]=nope": 400,
		response + "?include[]=reasoning.encrypted_content": 200, response + "/input_items?include=nope": 400, items + "?include[]=nope": 404,
	} {
		if status, data := h.do(http.MethodGet, path, ""); status != want {
			t.Errorf("%s: status %d, want %d: %s", path, status, want, data)
		}
	}
}

func TestCreate_InputItems(t *testing.T) {
	h := serve(t, play(text("ok"), done()))
	r := h.create(`{"input":[
		{"type":"message","role":"developer","content":"Speak of teeth."},
		{"role":"user","content":[{"type":"input_text","text":"See"},{"type":"input_image","image_url":"data:image/png;base64,AA"},
			{"type":"input_file","filename":"a.txt","file_data":"data:text/plain;base64,eMOhbQ=="}]}]}`)
	turn := h.turn(0)
	if turn.System != "Speak of teeth." || turn.Stateless || len(turn.Attachments) != 1 || turn.Attachments[0].Text != "xám" {
		t.Errorf("turn %+v", turn)
	}
	if parts := turn.Messages[0].Parts; len(parts) != 2 || parts[1].Kind != schemas.PartImage {
		t.Errorf("parts %+v", parts)
	}
	status, data := h.do(http.MethodGet, "/v1/responses/"+r["id"].(string)+"/input_items?order=asc", "")
	list := read(t, data)
	if status != http.StatusOK || at(list, "data", 0, "role") != "developer" || at(list, "data", 1, "content", 0, "text") != "See" || list["first_id"] == nil {
		t.Errorf("status %d: %s", status, data)
	}
	for _, it := range list["data"].([]any) {
		if id, _ := at(it, "id").(string); !strings.HasPrefix(id, "in_") {
			t.Errorf("an item has the id %q", id)
		}
	}
}
