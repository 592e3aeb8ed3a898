package responses_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"molar/agent/answer"
	"molar/schemas"
	"molar/web"
)

// The tools of Codex: functions in a namespace are called by their flat names, and come back as the
// client declared them; hosted tools that this host lacks are left out, with a warning.
func TestTools_Namespace(t *testing.T) {
	call := schemas.ToolCall{ID: "k1", Function: schemas.FunctionCall{Name: "agents__spawn", Arguments: `{}`}}
	h := serve(t, play(answer.Event{Kind: answer.KindClientCalls, Calls: []schemas.ToolCall{call}}, ended(answer.Done{Finish: "tool_calls", Calls: []schemas.ToolCall{call}})))
	tools := `[{"type":"function","name":"shell","parameters":{"type":"object"}},
		{"type":"namespace","name":"agents","description":"Other agents.","tools":[{"type":"function","name":"spawn","strict":false,"parameters":{"type":"object"}},{"type":"custom","name":"odd"}]},
		{"type":"image_generation"},{"type":"custom","name":"apply_patch","format":{"type":"grammar"}}]`
	r := h.create(`{"input":"Go.","store":false,"tools":` + tools + `}`)
	turn := h.turn(0)
	var names []string
	for _, tool := range turn.ClientTools {
		names = append(names, tool.Name+": "+tool.Description)
	}
	if got := strings.Join(names, "; "); got != "shell: ; agents__spawn: Other agents." {
		t.Errorf("the model is offered %s", got)
	}
	if got := strings.Join(turn.Warnings, "; "); !strings.Contains(got, "odd of the namespace agents") || !strings.Contains(got, "image_generation") || !strings.Contains(got, "apply_patch") {
		t.Errorf("the warnings are %s", got)
	}
	if at(r, "output", 0, "name") != "spawn" || at(r, "output", 0, "namespace") != "agents" {
		t.Errorf("the call is %v", at(r, "output", 0))
	}
	if len(r["tools"].([]any)) != 4 || at(r, "tools", 1, "name") != "agents" {
		t.Errorf("the tools are repeated as %v", r["tools"])
	}
	h.create(`{"store":false,"input":[{"role":"user","content":"Go."},{"type":"function_call","call_id":"k1","namespace":"agents","name":"spawn","arguments":"{}"},
		{"type":"function_call_output","call_id":"k1","output":"ok"}],"tools":` + tools + `}`)
	if got := h.turn(1); len(got.Results) != 1 || got.Results[0].ToolName != "agents__spawn" {
		t.Errorf("the results are %+v", got.Results)
	}
}

// searches are the tools of a host that has both searches.
type searches []schemas.Tool

func (s searches) Tools() []schemas.Tool { return s }

// A search of the web and one of files are this host's own, under their usual names.
func TestTools_Searches(t *testing.T) {
	search := func(tool, query string) []answer.Event {
		call := schemas.ToolCall{ID: "c-" + tool, Function: schemas.FunctionCall{Name: "tool-server__" + tool, Arguments: `{"query":"` + query + `"}`}}
		return []answer.Event{
			{Kind: answer.KindToolCall, Step: "6.3", Call: &call, Server: schemas.ToolServer, ToolName: tool},
			{Kind: answer.KindToolResult, Step: "6.3", Call: &call, Server: schemas.ToolServer, ToolName: tool, Result: &schemas.ToolResult{ID: call.ID, Output: []byte(`"x"`)}},
		}
	}
	tools := searches{
		{ToolInfo: schemas.ToolInfo{Name: "tool-server__web", Server: schemas.ToolServer, ToolName: "web", Annotations: schemas.ToolAnnotations{OpenWorldHint: new(true)}}},
		{ToolInfo: schemas.ToolInfo{Name: "tool-server__guide", Server: schemas.ToolServer, ToolName: "guide", Annotations: schemas.ToolAnnotations{OpenWorldHint: new(false)}}},
	}
	h := serveWith(t, play(append(append(search("web", "teeth"), search("guide", "roots")...), text("ok"), done())...), func(cfg *web.Config) { cfg.Tools = tools })
	r := h.create(`{"input":"Look.","tools":[{"type":"web_search_preview"},{"type":"file_search","vector_store_ids":["x"]}],"tool_choice":{"type":"file_search"}}`)
	if turn := h.turn(0); strings.Join(turn.Also, " ") != "tool-server__web tool-server__guide" || turn.MustCallTool != "tool-server__guide" || len(turn.Warnings) > 0 {
		t.Errorf("the turn is offered %v, must call %q, warns %v", turn.Also, turn.MustCallTool, turn.Warnings)
	}
	if at(r, "output", 0, "type") != "web_search_call" || at(r, "output", 0, "action", "query") != "teeth" || at(r, "output", 0, "status") != "completed" {
		t.Errorf("the search of the web is %v", at(r, "output", 0))
	}
	if at(r, "output", 1, "type") != "file_search_call" || at(r, "output", 1, "queries", 0) != "roots" {
		t.Errorf("the search of files is %v", at(r, "output", 1))
	}
	events := strings.Join(types(h.stream(`{"input":"Look.","stream":true,"tools":[{"type":"web_search"}]}`)), " ")
	if !strings.Contains(events, "response.web_search_call.in_progress response.web_search_call.searching response.web_search_call.completed") || strings.Contains(events, "file_search") {
		t.Errorf("the events are %s", events)
	}
}

// Reasoning comes back sealed for a client that asks for that, and only this host's is taken.
func TestCreate_EncryptedReasoning(t *testing.T) {
	h := serve(t, play(answer.Event{Kind: answer.KindThinking, Text: "I look."}, text("ok"), done()))
	r := h.create(`{"input":"Go.","store":false,"include":["reasoning.encrypted_content"]}`)
	sealed, _ := at(r, "output", 0, "encrypted_content").(string)
	if sealed == "" || strings.Contains(sealed, "look") {
		t.Fatalf("the reasoning is %v", at(r, "output", 0))
	}
	if plain := h.create(`{"input":"Go.","store":false}`); at(plain, "output", 0, "encrypted_content") != nil {
		t.Errorf("unasked, the reasoning is %v", at(plain, "output", 0))
	}
	item := func(content string) string {
		data, err := json.Marshal([]any{map[string]any{"role": "user", "content": "Go."}, map[string]any{"type": "reasoning", "id": "rs_1", "summary": []any{}, "encrypted_content": content}, map[string]any{"role": "user", "content": "On."}})
		if err != nil {
			t.Fatal(err)
		}
		return `{"store":false,"input":` + string(data) + `}`
	}
	h.create(item(sealed))
	if status, code, param := h.refused(item(sealed[:len(sealed)-2] + "xx")); status != http.StatusBadRequest || code != "invalid_encrypted_content" || param != "input[1].encrypted_content" {
		t.Errorf("changed: %d %s %s", status, code, param)
	}
	for _, query := range []string{"?stream=maybe", "?include=nope"} {
		if status, data := h.do(http.MethodGet, "/v1/responses/resp_x"+query, ""); status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", query, status, data)
		}
	}
}
