package responses_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/agent"
	"molar/agent/answer"
	"molar/schemas"
	"molar/web"
)

// searchTool is a search tool of the host, over the web or a folder.
func searchTool(name string, web bool) schemas.Tool {
	return schemas.Tool{ToolInfo: schemas.ToolInfo{
		Name: "tool-server__" + name, Server: schemas.ToolServer, ToolName: name, Annotations: schemas.ToolAnnotations{OpenWorldHint: &web},
	}}
}

// searchHost serves an assistant whose model may search the folders handbook and recipes, and the
// web too; code searches the guide. Its turns run these searches.
func searchHost(t *testing.T, searches ...answer.Event) *host {
	t.Helper()
	return serveWith(t, play(append(searches, text("ok"), done())...), func(c *web.Config) {
		c.Searches = func(assistant string) (byModel, byCode []schemas.Tool) {
			switch assistant {
			case "dental":
				return nil, []schemas.Tool{searchTool("guide", false)}
			case "blind":
				return nil, nil
			}
			return []schemas.Tool{searchTool("handbook", false), searchTool("recipes", false), searchTool("duckduckgo_search", true)}, nil
		}
	})
}

// ran returns the events of a search.
func ran(step, id, tool, query, output string, isError bool) []answer.Event {
	call := schemas.ToolCall{ID: id, Function: schemas.FunctionCall{Name: "tool-server__" + tool, Arguments: `{"query":"` + query + `"}`}}
	return []answer.Event{
		{Kind: answer.KindToolCall, Step: step, Call: &call, Server: schemas.ToolServer, ToolName: tool},
		{Kind: answer.KindToolResult, Step: step, Call: &call, Server: schemas.ToolServer, ToolName: tool, Result: &schemas.ToolResult{ID: id, Output: []byte(output), IsError: isError}},
	}
}

// Searches that a request names by OpenAI's types are its items of the same names.
func TestSearches_Items(t *testing.T) {
	const passages = `{"results":[{"title":"Leave","content":"30 days","link":"","place":{"folder":"handbook","file":"rules/leave.md","line":12},"score":0.9},{"title":"Plain","content":"x","link":"https://a.vn/p","score":0.5}]}`
	h := searchHost(t, slices.Concat(
		ran("6.1", "a", "handbook", "how long", passages, false),
		ran("6.3", "b", "duckduckgo_search", "weather", `{"results":[{"title":"W","content":"sunny","link":"https://w.vn"}]}`, false),
		ran("6.3", "c", "duckduckgo_search", "more", `"too many requests"`, true),
	)...)
	const tools = `"tools":[{"type":"file_search","vector_store_ids":["vs_1"],"max_num_results":3,"ranking_options":{}},{"type":"web_search_preview","search_context_size":"low","user_location":null}]`
	r := h.create(`{"input":"x","include":["file_search_call.results","web_search_call.action.sources"],` + tools + `}`)
	output := r["output"].([]any)
	for i := range output[:3] {
		delete(output[i].(object), "id")
	}
	want := []any{
		object{"type": "file_search_call", "status": "completed", "queries": []any{"how long"}, "results": []any{
			object{"file_id": "rules/leave.md", "filename": "leave.md", "score": 0.9, "text": "30 days", "attributes": object{}},
			object{"file_id": "Plain", "filename": "Plain", "score": 0.5, "text": "x", "attributes": object{}},
		}},
		object{"type": "web_search_call", "status": "completed", "action": object{
			"type": "search", "query": "weather", "queries": []any{"weather"}, "sources": []any{object{"type": "url", "url": "https://w.vn"}},
		}},
		object{"type": "web_search_call", "status": "failed", "action": object{"type": "search", "query": "more", "queries": []any{"more"}}},
	}
	if diff := cmp.Diff(want, output[:3]); diff != "" {
		t.Error(diff)
	}
	if at(r, "tools", 0, "type") != "file_search" || at(r, "tools", 1, "type") != "web_search_preview" || at(r, "molar", "warnings") != nil {
		t.Errorf("response %v", r)
	}
	var events []string
	for _, kind := range types(h.stream(`{"input":"x","stream":true,` + tools + `}`)) {
		if strings.Contains(kind, "search") {
			events = append(events, strings.TrimPrefix(kind, "response."))
		}
	}
	if diff := cmp.Diff([]string{
		"file_search_call.in_progress", "file_search_call.searching", "file_search_call.completed",
		"web_search_call.in_progress", "web_search_call.searching", "web_search_call.completed",
		"web_search_call.in_progress", "web_search_call.searching",
	}, events); diff != "" {
		t.Error(diff)
	}
	plain := h.create(`{"input":"x",` + tools + `}`)
	if at(plain, "output", 0, "results") != nil || at(plain, "output", 1, "action", "sources") != nil {
		t.Errorf("what was not asked for is included: %v", plain["output"])
	}
	// A request without them sees the model's calls like any others, and continues with the items.
	var kinds []string
	for _, it := range h.create(`{"input":"x"}`)["output"].([]any) {
		kinds = append(kinds, at(it, "type").(string))
	}
	if !slices.Equal(kinds, []string{"mcp_call", "mcp_call", "message"}) {
		t.Errorf("items %v", kinds)
	}
	h.create(`{"input":[{"role":"user","content":"x"},{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search"}},
		{"type":"file_search_call","id":"fs_1","status":"completed","queries":[]},{"role":"assistant","content":"ok"},{"role":"user","content":"y"}]}`)
}

// A request may choose among the assistant's searches and force one; it cannot add one.
func TestSearches_Choice(t *testing.T) {
	h := searchHost(t)
	may := func(i int) (names []string) {
		turn := h.turn(i)
		for _, tool := range []schemas.Tool{searchTool("handbook", false), searchTool("recipes", false), searchTool("duckduckgo_search", true), {ToolInfo: schemas.ToolInfo{Name: "family__find", Server: "family", ToolName: "find"}}} {
			if turn.Narrow == nil {
				names = append(names, tool.ToolName)
			} else if _, ok := turn.Narrow.Apply(tool); ok {
				names = append(names, tool.ToolName)
			}
		}
		return names
	}
	const folders, pages = `{"type":"file_search","vector_store_ids":["vs_1"]}`, `{"type":"web_search"}`
	tests := []struct {
		request  string
		may      []string
		must     bool
		mustCall string
	}{
		{`"tools":[` + folders + `]`, []string{"handbook", "recipes", "duckduckgo_search", "find"}, false, ""},
		{`"tools":[{"type":"file_search","vector_store_ids":["handbook"]}]`, []string{"handbook", "duckduckgo_search", "find"}, false, ""},
		{`"tools":[` + pages + `,{"type":"mcp","server_label":"family"}]`, []string{"duckduckgo_search", "find"}, false, ""},
		{`"tools":[` + folders + `,` + pages + `],"tool_choice":{"type":"web_search"}`, []string{"handbook", "recipes", "duckduckgo_search", "find"}, true, "tool-server__duckduckgo_search"},
		{`"tools":[` + folders + `],"tool_choice":{"type":"file_search"}`, []string{"handbook", "recipes"}, true, ""},
		{`"tools":[` + folders + `,` + pages + `],"tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"type":"web_search"}]}`, []string{"duckduckgo_search"}, false, ""},
		{`"tools":[{"type":"function","name":"own"},` + pages + `],"tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":"own"}]}`, nil, false, ""},
		{`"model":"dental","tools":[` + folders + `],"tool_choice":{"type":"file_search"}`, []string{"handbook", "recipes", "duckduckgo_search", "find"}, false, ""},
	}
	for i, tt := range tests {
		if status, data := h.do(http.MethodPost, "/v1/responses", `{"input":"x",`+tt.request+`}`); status != http.StatusOK {
			t.Fatalf("%s: status %d: %s", tt.request, status, data)
		}
		turn := h.turn(i)
		if turn.MustCall != tt.must || turn.MustCallTool != tt.mustCall {
			t.Errorf("%s: must call %v %q", tt.request, turn.MustCall, turn.MustCallTool)
		}
		if diff := cmp.Diff(tt.may, may(i)); diff != "" {
			t.Errorf("%s: %s", tt.request, diff)
		}
	}
}

func TestSearches_Absent(t *testing.T) {
	h := searchHost(t)
	for request, why := range map[string]string{
		`"model":"blind","tools":[{"type":"web_search"}]`:             "the assistant does not search the web",
		`"model":"dental","tools":[{"type":"web_search"}]`:            "the assistant does not search the web",
		`"model":"blind","tools":[{"type":"file_search"}]`:            "the assistant searches no folder",
		`"tools":[{"type":"web_search","external_web_access":false}]`: "of which this host has no copy",
	} {
		r := h.create(`{"input":"x",` + request + `}`)
		if warning, _ := at(r, "molar", "warnings", 0).(string); !strings.Contains(warning, why) {
			t.Errorf("%s: warnings %v", request, at(r, "molar", "warnings"))
		}
	}
	for request, param := range map[string]string{
		`"model":"blind","tools":[{"type":"web_search"}],"tool_choice":"required"`:              "tools[0].type",
		`"model":"blind","tools":[{"type":"web_search"}],"tool_choice":{"type":"web_search"}`:   "tool_choice.type",
		`"tool_choice":{"type":"file_search"}`:                                                  "tool_choice.type",
		`"tools":[{"type":"web_search","filters":{"allowed_domains":["a.vn"]}}]`:                "tools[0].filters",
		`"tools":[{"type":"file_search","vector_store_ids":"vs_1"}]`:                            "tools[0].vector_store_ids",
		`"tools":[{"type":"file_search"}],"include":["file_search_call.results","file_search"]`: "include",
	} {
		if status, _, got := h.refused(`{"input":"x",` + request + `}`); status != http.StatusBadRequest || got != param {
			t.Errorf("%s: status %d, param %q, want %q", request, status, got, param)
		}
	}
}

// A search that still runs when the response ends is incomplete.
func TestSearches_Incomplete(t *testing.T) {
	begun := ran("6.3", "a", "handbook", "q", `{}`, false)[0]
	h := serveWith(t, func(_ context.Context, _ agent.Turn, say func(answer.Event) bool) error {
		say(begun)
		return context.DeadlineExceeded
	}, func(c *web.Config) {
		c.Searches = func(string) (byModel, byCode []schemas.Tool) {
			return []schemas.Tool{searchTool("handbook", false)}, nil
		}
	})
	events := h.stream(`{"input":"x","stream":true,"tools":[{"type":"file_search"}]}`)
	if last := events[len(events)-1]; at(last, "response", "output", 0, "status") != "incomplete" {
		t.Errorf("the stream ends with %v", last)
	}
}
