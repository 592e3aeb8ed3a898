package responses_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/agent"
	"molar/agent/answer"
	"molar/schemas"
	"molar/web"
)

func id(r object) string { return r["id"].(string) }

// turnOf returns the id of the turn of a response.
func turnOf(r object) string { return at(r, "molar", "turn_id").(string) }

// A response is continued in its conversation, after its own turn; an older response is continued
// on a new branch.
func TestContinue_Branches(t *testing.T) {
	h := serve(t, play(text("ok"), done()))
	first := h.create(`{"input":[{"role":"system","content":"Stay calm."},{"role":"user","content":"one"}],"instructions":"Only now."}`)
	second := h.create(`{"input":"two","previous_response_id":"` + id(first) + `"}`)
	third := h.create(`{"input":"another two","previous_response_id":"` + id(first) + `"}`)
	for i, r := range []object{second, third} {
		turn := h.turn(i + 1)
		if turn.ConversationID != at(first, "molar", "conversation_id") || turn.Parent == nil || *turn.Parent != turnOf(first) || turn.Stateless {
			t.Errorf("turn %d: conversation %q, parent %v, stateless %v", i+1, turn.ConversationID, turn.Parent, turn.Stateless)
		}
		if turn.System != "Stay calm." {
			t.Errorf("system %q: system items are inherited, instructions are not", turn.System)
		}
		if r["previous_response_id"] != id(first) {
			t.Errorf("previous %v", r["previous_response_id"])
		}
	}
	h.create(`{"input":"three","previous_response_id":"` + id(second) + `"}`)
	if turn := h.turn(3); *turn.Parent != turnOf(second) {
		t.Errorf("parent %q", *turn.Parent)
	}
}

// A response that is not stored leaves nothing behind; its history is that of the conversation.
func TestContinue_NotStored(t *testing.T) {
	h := serve(t, play(text("ok"), done()))
	first := h.create(`{"input":"one"}`)
	second := h.create(`{"input":"two","previous_response_id":"` + id(first) + `","store":false}`)
	turn := h.turn(1)
	if !turn.ReadOnly || turn.ConversationID != at(first, "molar", "conversation_id") || turn.Parent == nil || *turn.Parent != turnOf(first) {
		t.Errorf("turn %+v", turn)
	}
	if status, _ := h.do(http.MethodGet, "/v1/responses/"+id(second), ""); status != http.StatusNotFound {
		t.Errorf("a response that was not stored: status %d", status)
	}
	if status, code, _ := h.refused(`{"input":"x","previous_response_id":"` + id(second) + `"}`); status != http.StatusBadRequest || code != "previous_response_not_found" {
		t.Errorf("status %d, code %q", status, code)
	}
}

// A history that the client sends is stored with the response, which can be continued.
func TestContinue_ClientHistory(t *testing.T) {
	h := serve(t, play(text("ok"), done()))
	first := h.create(`{"input":[{"role":"user","content":"a"},{"type":"message","role":"assistant","phase":"final_answer","content":[{"type":"output_text","text":"b","annotations":[]}]},{"role":"user","content":"c"}]}`)
	if !h.turn(0).Stateless {
		t.Error("a turn with a history of the client was saved")
	}
	h.create(`{"input":"d","previous_response_id":"` + id(first) + `"}`)
	var messages []string
	for _, m := range h.turn(1).Messages {
		messages = append(messages, string(m.Role)+" "+m.Said())
	}
	if got := strings.Join(messages, ", "); got != "user a, assistant b, user c, assistant ok, user d" {
		t.Errorf("the model would see %s", got)
	}
}

func TestContinue_References(t *testing.T) {
	h := serve(t, play(text("ok"), done()))
	first := h.create(`{"input":"one"}`)
	h.create(`{"input":[{"role":"user","content":"one"},{"type":"item_reference","id":"` + at(first, "output", 0, "id").(string) + `"},{"role":"user","content":"two"}]}`)
	if m := h.turn(1).Messages; len(m) != 3 || m[1].Said() != "ok" {
		t.Errorf("messages %+v", m)
	}
}

func TestCreate_Conversation(t *testing.T) {
	h := serve(t, play(text("ok"), done()))
	r := h.create(`{"input":"one","conversation":{"id":"known"}}`)
	if turn := h.turn(0); turn.ConversationID != "known" || turn.Parent != nil {
		t.Errorf("turn %+v", turn)
	}
	if at(r, "conversation", "id") != "known" {
		t.Errorf("conversation %v", r["conversation"])
	}
}

// A conversation that the owner does not have is refused, so that a mistyped id does not lose the
// context without a word. Chat Completions begin one under a new id.
func TestCreate_UnknownConversation(t *testing.T) {
	h := serveWith(t, play(text("ok"), done()), func(c *web.Config) {
		c.Owner = func(r *http.Request) string { return r.Header.Get("X-Owner") }
	})
	status, data := h.doWith(http.MethodPost, "/v1/conversations", "", "X-Owner", "ann")
	if status != http.StatusOK {
		t.Fatalf("status %d: %s", status, data)
	}
	mine := id(read(t, data))
	var answers []any
	for _, named := range []string{mine, "conv_typo"} {
		for path, body := range map[string]string{
			"/v1/responses": `{"input":"x","conversation":"` + named + `"}`, "/v1/responses/input_tokens": `{"input":"x","conversation":{"id":"` + named + `"}}`,
		} {
			status, data := h.doWith(http.MethodPost, path, body, "X-Owner", "bob")
			e := at(read(t, data), "error").(object)
			if status != http.StatusNotFound || e["code"] != "conversation_not_found" || e["param"] != "conversation" {
				t.Errorf("%s %s: status %d: %s", path, body, status, data)
			}
			e["message"] = strings.ReplaceAll(e["message"].(string), named, "")
			answers = append(answers, e)
		}
	}
	for _, e := range answers {
		if diff := cmp.Diff(answers[0], e); diff != "" {
			t.Errorf("another owner's conversation is told apart from an unknown one: %s", diff)
		}
	}
	if status, data := h.doWith(http.MethodPost, "/v1/responses", `{"input":"x","conversation":"`+mine+`"}`, "X-Owner", "ann"); status != http.StatusOK {
		t.Errorf("status %d: %s", status, data)
	}
	if status, data := h.do(http.MethodPost, "/v1/chat/completions", `{"chat_id":"new","messages":[{"role":"user","content":"x"}]}`); status != http.StatusOK {
		t.Errorf("status %d: %s", status, data)
	}
	if n := len(h.asked); n != 2 || h.turn(1).ConversationID != "new" {
		t.Errorf("%d turns ran, the last one in %q", n, h.turn(1).ConversationID)
	}
}

// A store that does not answer does not make a conversation unknown: the turn decides what is
// answered without it.
func TestCreate_ConversationOfABrokenStore(t *testing.T) {
	h := serveWith(t, play(text("ok"), done()), func(c *web.Config) { c.Conversations = brokenStore{} })
	h.create(`{"input":"x","conversation":"c1"}`)
	if turn := h.turn(0); turn.ConversationID != "c1" {
		t.Errorf("turn %+v", turn)
	}
}

// A brokenStore has no messages to give.
type brokenStore struct{ store }

func (brokenStore) Messages(context.Context, string, string) ([]schemas.StoredMessage, string, bool, error) {
	return nil, "", false, errors.New("the disk is full")
}

// A conversation of OpenAI's clients is created empty and has metadata; its items are those of its
// responses.
func TestConversations(t *testing.T) {
	h := serve(t, play(text("ok"), done()))
	status, data := h.do(http.MethodPost, "/v1/conversations", `{"metadata":{"a":"b"}}`)
	made := read(t, data)
	if status != http.StatusOK || made["object"] != "conversation" || at(made, "metadata", "a") != "b" || made["created_at"] == nil {
		t.Fatalf("status %d: %s", status, data)
	}
	path := "/v1/conversations/" + id(made)
	if status, data = h.do(http.MethodGet, path, ""); status != http.StatusOK || at(read(t, data), "metadata", "a") != "b" {
		t.Errorf("status %d: %s", status, data)
	}
	if status, data = h.do(http.MethodPost, path, `{"metadata":{"a":"c"}}`); status != http.StatusOK || at(read(t, data), "metadata", "a") != "c" {
		t.Errorf("status %d: %s", status, data)
	}
	if status, _ = h.do(http.MethodPost, path+"/items", `{"items":[]}`); status != http.StatusBadRequest {
		t.Errorf("items were added: status %d", status)
	}
	h.create(`{"input":"one","conversation":"` + id(made) + `"}`)
	if turn := h.turn(0); turn.ConversationID != id(made) {
		t.Errorf("conversation %q", turn.ConversationID)
	}
	status, data = h.do(http.MethodGet, "/v1/conversations/known/items?order=asc", "")
	list := read(t, data)
	if status != http.StatusOK || at(list, "data", 0, "role") != "user" || at(list, "data", 1, "content", 0, "annotations", 0, "url") != "https://a.vn" || at(list, "data", 1, "phase") != "final_answer" {
		t.Errorf("status %d: %s", status, data)
	}
	for _, it := range list["data"].([]any) {
		conforms(t, "ItemField", it)
	}
	item := at(list, "data", 1, "id").(string)
	if status, data = h.do(http.MethodGet, "/v1/conversations/known/items/"+item, ""); status != http.StatusOK || id(read(t, data)) != item {
		t.Errorf("status %d: %s", status, data)
	}
	if status, _ = h.do(http.MethodGet, "/v1/conversations/other/items", ""); status != http.StatusNotFound {
		t.Errorf("status %d", status)
	}
}

// files is a store with the files of one question.
type files struct{}

func (files) Files(_ context.Context, _, id string) ([]schemas.File, error) {
	if id != "known" {
		return nil, agent.ErrNotFound
	}
	return []schemas.File{{Seq: 1, N: 0, Name: "x-ray.png", Media: "image/png", Size: 3}, {Seq: 1, N: 1, Name: "note.txt", Media: "text/plain", Size: 4}}, nil
}

func (files) File(_ context.Context, _, _ string, _ int64, n int) (schemas.File, []byte, error) {
	return schemas.File{}, []byte([]string{"png", "note"}[n]), nil
}

// The items of a conversation, and the input items of a response, contain the files in the form in
// which a request sends them.
func TestItems_GiveFilesBack(t *testing.T) {
	h := serveWith(t, play(text("ok"), done()), func(cfg *web.Config) { cfg.Files = files{} })
	_, data := h.do(http.MethodGet, "/v1/conversations/known/items?order=asc", "")
	question := at(read(t, data), "data", 0)
	image, file := at(question, "content", 1), at(question, "content", 2)
	if at(image, "type") != "input_image" || at(image, "image_url") != "data:image/png;base64,cG5n" || at(file, "type") != "input_file" || at(file, "filename") != "note.txt" || at(file, "file_data") != "data:text/plain;base64,bm90ZQ==" {
		t.Errorf("the items are %s", data)
	}
	_, data = h.do(http.MethodGet, "/v1/conversations/known/items/"+at(question, "id").(string), "")
	if at(read(t, data), "content", 1, "image_url") != "data:image/png;base64,cG5n" {
		t.Errorf("the item is %s", data)
	}
	content, err := json.Marshal(at(question, "content"))
	if err != nil {
		t.Fatal(err)
	}
	r := h.create(`{"input":[{"role":"user","content":` + string(content) + `}]}`)
	turn := h.turn(0)
	if parts := turn.Messages[0].Parts; len(turn.Attachments) != 1 || len(parts) != 2 || parts[1].Kind != schemas.PartImage {
		t.Errorf("sent again, they come to %+v beside %+v", parts, turn.Attachments)
	}
	_, data = h.do(http.MethodGet, "/v1/responses/"+id(r)+"/input_items", "")
	if at(read(t, data), "data", 0, "content", 1, "image_url") != "data:image/png;base64,cG5n" {
		t.Errorf("the input items are %s", data)
	}
}

// Deleting a conversation deletes its responses, also those that could still be followed.
func TestConversations_Delete(t *testing.T) {
	h := serve(t, play(text("ok"), done()))
	of, beside := h.create(`{"input":"one","conversation":"known"}`), h.create(`{"input":"one"}`)
	if status, data := h.do(http.MethodDelete, "/v1/conversations/known", ""); status != http.StatusOK || at(read(t, data), "deleted") != true {
		t.Errorf("status %d: %s", status, data)
	}
	for _, query := range []string{"", "?stream=true", "/input_items"} {
		if status, data := h.do(http.MethodGet, "/v1/responses/"+id(of)+query, ""); status != http.StatusNotFound {
			t.Errorf("%s: status %d: %s", query, status, data)
		}
	}
	h.get(id(beside))
}

// weather plays a turn that calls the client's tool, and answers when it has the result.
func weather(_ context.Context, t agent.Turn, say func(answer.Event) bool) error {
	if len(t.Results) > 0 {
		say(text("It is " + t.Results[0].OutputText() + "."))
		say(done())
		return nil
	}
	calls := []schemas.ToolCall{{ID: "call_1", Function: schemas.FunctionCall{Name: "get_weather", Arguments: `{"city":"Hà Nội"}`}}}
	say(answer.Event{Kind: answer.KindClientCalls, Calls: calls})
	say(ended(answer.Done{Finish: "tool_calls", Calls: calls}))
	return nil
}

const weatherTool = `"tools":[{"type":"function","name":"get_weather","description":"x","parameters":{"type":"object"},"strict":false}]`

func TestClientTools(t *testing.T) {
	h := serve(t, weather)
	first := h.create(`{"input":"Weather?",` + weatherTool + `}`)
	call := at(first, "output", 0)
	if at(call, "type") != "function_call" || at(call, "call_id") != "call_1" || at(call, "arguments") != `{"city":"Hà Nội"}` || first["status"] != "completed" {
		t.Fatalf("output %v", first["output"])
	}
	if tools := h.turn(0).ClientTools; len(tools) != 1 || tools[0].Name != "get_weather" {
		t.Errorf("tools %+v", tools)
	}
	if status, _, _ := h.refused(`{"input":"and now?","previous_response_id":"` + id(first) + `"}`); status != http.StatusBadRequest {
		t.Errorf("a call without its output: status %d", status)
	}
	second := h.create(`{"input":[{"type":"function_call_output","call_id":"call_1","output":[{"type":"input_text","text":"sunny"},{"type":"input_image","image_url":"data:image/png;base64,AAAA"}]}],"previous_response_id":"` + id(first) + `",` + weatherTool + `}`)
	if got := at(second, "output", 0, "content", 0, "text"); got != "It is sunny." {
		t.Errorf("text %v", got)
	}
	turn := h.turn(1)
	if len(turn.Messages) != 3 || turn.Messages[0].Said() != "Weather?" || turn.ConversationID != at(first, "molar", "conversation_id") {
		t.Errorf("turn %+v", turn)
	}
	if r := turn.Results[0]; r.OutputText() != "sunny" || len(r.Media) != 1 || r.Media[0].Text != "data:image/png;base64,AAAA" {
		t.Errorf("result %+v", r)
	}
	kinds := types(h.stream(`{"input":"Weather?","stream":true,` + weatherTool + `}`))
	want := "response.output_item.added response.function_call_arguments.delta response.function_call_arguments.done response.output_item.done response.completed"
	if got := strings.Join(kinds[2:], " "); got != want {
		t.Errorf("events %s", got)
	}
}

// A request can choose among the tools of the attached servers, but not use more than the operator
// allows.
func TestTools_Narrow(t *testing.T) {
	h := serve(t, play(text("ok"), done()))
	find := schemas.Tool{ToolInfo: schemas.ToolInfo{Name: "family__find", Server: "family", ToolName: "find"}, Rules: schemas.ToolRules{Policy: schemas.PolicyAllow}}
	erase := schemas.Tool{ToolInfo: schemas.ToolInfo{Name: "family__erase", Server: "family", ToolName: "erase"}}
	other := schemas.Tool{ToolInfo: schemas.ToolInfo{Name: "web__get", Server: "web", ToolName: "get"}}
	tests := []struct {
		request             string
		find, erase, others bool
		asks                bool
	}{
		{`"tools":[{"type":"mcp","server_label":"family","allowed_tools":["find"],"require_approval":"always"}]`, true, false, false, true},
		{`"tools":[{"type":"mcp","server_label":"family","require_approval":{"always":{"tool_names":["erase"]}}}]`, true, true, false, false},
		{`"tools":[{"type":"mcp","server_label":"family","require_approval":"never"}]`, true, true, false, false},
		{`"tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"type":"mcp","server_label":"family","name":"find"}]}`, true, false, false, false},
		{`"tool_choice":{"type":"allowed_tools","mode":"required","tools":[{"type":"function","name":"web__get"}]}`, false, false, true, false},
	}
	for i, tt := range tests {
		h.create(`{"input":"x",` + tt.request + `}`)
		narrow := h.turn(i).Narrow.Apply
		got, may := narrow(find)
		if may != tt.find || may && (got.Rules.Policy == schemas.PolicyConfirm) != tt.asks {
			t.Errorf("%s: find %v, policy %q", tt.request, may, got.Rules.Policy)
		}
		if _, may := narrow(erase); may != tt.erase {
			t.Errorf("%s: erase %v", tt.request, may)
		}
		if _, may := narrow(other); may != tt.others {
			t.Errorf("%s: others %v", tt.request, may)
		}
	}
	h.create(`{"input":"x","tool_choice":{"type":"mcp","server_label":"family","name":"find"},"max_tool_calls":2,"truncation":"disabled","parallel_tool_calls":false}`)
	if turn := h.turn(len(tests)); !turn.MustCall || turn.MustCallTool != "family__find" || turn.MaxCalls != 2 || !turn.WholeHistory || !turn.OneCall {
		t.Errorf("turn %+v", turn)
	}
	h.create(`{"input":"x",` + weatherTool + `,"tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"type":"mcp","server_label":"family"}]}}`)
	if own := h.turn(len(tests) + 1).ClientTools; len(own) != 0 {
		t.Errorf("a tool that is not allowed is offered: %v", own)
	}
}

// The tools of the servers that requests name are listed once in a chain.
func TestTools_List(t *testing.T) {
	h := serve(t, func(_ context.Context, turn agent.Turn, say func(answer.Event) bool) error {
		if turn.ListTools {
			say(answer.Event{Kind: answer.KindTools, Tools: []schemas.ToolInfo{{Name: "family__find", Server: "family", ToolName: "find", InputSchema: []byte(`{"type":"object"}`)}}})
		}
		say(text("ok"))
		say(done())
		return nil
	})
	const named = `"tools":[{"type":"mcp","server_label":"family"}]`
	first := h.create(`{"input":"x",` + named + `}`)
	if at(first, "output", 0, "type") != "mcp_list_tools" || at(first, "output", 0, "tools", 0, "name") != "find" || at(first, "tools", 0, "server_label") != "family" {
		t.Errorf("response %v", first)
	}
	second := h.create(`{"input":"y",` + named + `,"previous_response_id":"` + id(first) + `"}`)
	if at(second, "output", 0, "type") != "message" {
		t.Errorf("listed twice: %v", second["output"])
	}
	if plain := h.create(`{"input":"z"}`); at(plain, "output", 0, "type") != "message" {
		t.Errorf("listed unasked: %v", plain["output"])
	}
}
