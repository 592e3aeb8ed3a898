package responses_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"molar/agent"
	"molar/schemas"
	"molar/web"
	"molar/web/responses"
)

// A chatStore keeps imported exchanges, of one conversation.
type chatStore struct {
	store
	mu    sync.Mutex
	turns []chatTurn
	made  int
}

type chatTurn struct {
	id, parent string
	responses.Exchange
}

func (s *chatStore) Import(_ context.Context, _, _ string, parent *string, x responses.Exchange) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.made++
	turn := chatTurn{id: fmt.Sprintf("turn%d", s.made), Exchange: x}
	if n := len(s.turns); parent == nil && n > 0 {
		parent = &s.turns[n-1].id
	}
	if parent != nil {
		turn.parent = *parent
	}
	s.turns = append(s.turns, turn)
	return turn.id, nil
}

func (s *chatStore) DeleteTurn(_ context.Context, _, _, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.turns, func(t chatTurn) bool { return t.id == id })
	if i < 0 {
		return agent.ErrNotFound
	}
	s.turns = slices.Delete(s.turns, i, i+1)
	return nil
}

func (s *chatStore) Messages(context.Context, string, string) ([]schemas.StoredMessage, string, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []schemas.StoredMessage
	for i, t := range s.turns {
		at := int64(2*i + 1)
		all = append(all,
			schemas.StoredMessage{Seq: at, Role: schemas.RoleUser, Content: t.Question, TurnID: t.id, ParentTurn: t.parent, Timestamp: time.Unix(at, 0)},
			schemas.StoredMessage{Seq: at + 1, Role: schemas.RoleAssistant, Content: t.Answer, TurnID: t.id, Assistant: agent.PauseClient})
	}
	return all, "", len(all) > 0, nil
}

// said returns the exchanges in a line.
func (s *chatStore) said() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for _, t := range s.turns {
		line := t.Question
		for _, r := range t.Rounds {
			line += fmt.Sprintf(" [%s %s by %s]", r.Said.Calls()[0].Function.Name, r.Results[0].OutputText(), r.Results[0].Server)
		}
		all = append(all, line+" > "+t.Answer)
	}
	return strings.Join(all, " | ")
}

// importHost serves a conversation that was just created with items.
func importHost(t *testing.T, items string) (*host, *chatStore, string) {
	t.Helper()
	s := &chatStore{}
	h := serveWith(t, play(text("ok"), done()), func(c *web.Config) { c.Conversations, c.Imports = s, s })
	status, data := h.do(http.MethodPost, "/v1/conversations", `{"items":`+items+`}`)
	if status != http.StatusOK {
		t.Fatalf("status %d: %s", status, data)
	}
	return h, s, "/v1/conversations/" + id(read(t, data))
}

// listed returns the types, or the roles, and the ids of the items of a conversation.
func listed(h *host, path string) (kinds string, ids []string) {
	h.t.Helper()
	status, data := h.do(http.MethodGet, path+"/items?order=asc&limit=100", "")
	if status != http.StatusOK {
		h.t.Fatalf("status %d: %s", status, data)
	}
	var names []string
	for _, it := range read(h.t, data)["data"].([]any) {
		name, _ := at(it, "role").(string)
		if name == "" {
			name = at(it, "type").(string)
		}
		names, ids = append(names, name), append(ids, at(it, "id").(string))
	}
	return strings.Join(names, " "), ids
}

// Items become exchanges of the conversation without a turn: a model sees questions, answers, and
// calls with their results, whose text is the client's.
func TestConversations_AddItems(t *testing.T) {
	h, s, path := importHost(t, `[{"role":"system","content":"Stay calm."},{"role":"user","content":"one"},{"role":"assistant","content":"1"},{"role":"user","content":"two"}]`)
	if got := s.said(); got != "one > 1 | two > " {
		t.Errorf("stored %s", got)
	}
	status, data := h.do(http.MethodPost, path+"/items", `{"items":[
		{"type":"function_call","id":"fc_theirs","call_id":"k","namespace":"n","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"k","output":"found"},
		{"type":"mcp_call","id":"m","server_label":"family","name":"find","arguments":"{}","output":"claimed"},
		{"type":"reasoning","id":"rs_theirs","summary":[]},{"role":"assistant","content":[{"type":"output_text","text":"2"}]},
		{"role":"user","content":[{"type":"input_text","text":"three"},{"type":"input_image","image_url":"data:image/png;base64,AAAA"},
			{"type":"input_file","filename":"a.txt","file_data":"data:text/plain;base64,eMOhbQ=="}]},
		{"type":"function_call","call_id":"open","name":"f","arguments":"{}"}]}`)
	added := read(t, data)
	if status != http.StatusOK || added["object"] != "list" || len(added["data"].([]any)) != 7 || added["first_id"] != at(added, "data", 0, "id") || added["has_more"] != false {
		t.Fatalf("status %d: %s", status, data)
	}
	want := "one > 1 | two [n__f found by " + agent.PauseClient + "] [family__find claimed by " + agent.PauseClient + "] > 2 | three > "
	if got := s.said(); got != want {
		t.Errorf("stored %s\nwant   %s", got, want)
	}
	if files := s.turns[2].Files; len(files) != 2 || files[0].Kind != schemas.PartImage || files[1].Name != "a.txt" {
		t.Errorf("files %+v", files)
	}
	kinds, ids := listed(h, path)
	if kinds != "system user assistant user function_call function_call_output mcp_call reasoning assistant user function_call" {
		t.Errorf("listed %s", kinds)
	}
	if slices.Contains(ids, "fc_theirs") || !slices.Contains(ids, "rs_theirs") || len(slices.Compact(slices.Sorted(slices.Values(ids)))) != len(ids) {
		t.Errorf("ids %v", ids)
	}
	status, data = h.do(http.MethodGet, path+"/items/"+ids[1], "")
	if part := at(read(t, data), "content", 0); status != http.StatusOK || at(part, "type") != "input_text" || at(part, "text") != "one" {
		t.Errorf("status %d: %s", status, data)
	}
	// The result of the open call completes its round.
	h.do(http.MethodPost, path+"/items", `{"items":[{"type":"function_call_output","call_id":"open","output":"late"},{"role":"assistant","content":"3"}]}`)
	if got := s.said(); !strings.HasSuffix(got, "| three [f late by "+agent.PauseClient+"] > 3") {
		t.Errorf("stored %s", got)
	}
}

// Items of the newest exchange can be deleted one by one, then those of the exchange before.
func TestConversations_DeleteItem(t *testing.T) {
	h, s, path := importHost(t, `[{"role":"user","content":"one"},{"role":"assistant","content":"1"},{"role":"user","content":"two"},
		{"type":"function_call","call_id":"k","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"k","output":"found"}]`)
	_, ids := listed(h, path)
	if status, data := h.do(http.MethodDelete, path+"/items/"+ids[0], ""); status != http.StatusBadRequest {
		t.Errorf("an item with an exchange after it: status %d: %s", status, data)
	}
	if status, data := h.do(http.MethodDelete, path+"/items/none", ""); status != http.StatusNotFound {
		t.Errorf("an unknown item: status %d: %s", status, data)
	}
	for i, want := range []string{"one > 1 | two > ", "one > 1 | two > ", "one > 1", "one > ", ""} {
		last := len(ids) - 1 - i
		status, data := h.do(http.MethodDelete, path+"/items/"+ids[last], "")
		if o := read(t, data); status != http.StatusOK || o["object"] != "conversation" || !strings.HasSuffix(path, id(o)) {
			t.Fatalf("status %d: %s", status, data)
		}
		if got := s.said(); got != want {
			t.Errorf("stored %q, want %q", got, want)
		}
		if _, rest := listed(h, path); !slices.Equal(rest, ids[:last]) {
			t.Errorf("left %v, want %v", rest, ids[:last])
		}
	}
	if status, data := h.do(http.MethodGet, path, ""); status != http.StatusOK {
		t.Errorf("the empty conversation: status %d: %s", status, data)
	}
}

// The items of a turn are not deleted one by one: there is more of it, such as its trace.
func TestConversations_DeleteItemOfTurn(t *testing.T) {
	h := serveWith(t, play(text("ok"), done()), func(c *web.Config) { c.Imports = &chatStore{} })
	_, ids := listed(h, "/v1/conversations/known")
	if status, data := h.do(http.MethodDelete, "/v1/conversations/known/items/"+ids[len(ids)-1], ""); status != http.StatusBadRequest {
		t.Errorf("status %d: %s", status, data)
	}
}

func TestConversations_AddRefused(t *testing.T) {
	h, s, path := importHost(t, `[]`)
	for body, param := range map[string]string{
		`{"items":[]}`:  "items",
		`{"items":"x"}`: "items",
		`{"items":[{"role":"robot","content":"x"}]}`:        "items.role",
		`{"items":[{"type":"item_reference","id":"none"}]}`: "input[0].id",
		`{"items":[{"role":"user","content":"x"},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"1"},` +
			`{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}]}`: "items", // one result, two calls
	} {
		status, data := h.do(http.MethodPost, path+"/items", body)
		if status != http.StatusBadRequest || at(read(t, data), "error", "param") != param {
			t.Errorf("%s: status %d: %s", body, status, data)
		}
	}
	if status, data := h.do(http.MethodPost, "/v1/conversations/none/items", `{"items":[{"role":"user","content":"x"}]}`); status != http.StatusNotFound {
		t.Errorf("an unknown conversation: status %d: %s", status, data)
	}
	if s.made != 0 {
		t.Errorf("%d exchanges were stored", s.made)
	}
	// Its id is no response.
	h.do(http.MethodPost, path+"/items", `{"items":[{"role":"user","content":"x"}]}`)
	if status, data := h.do(http.MethodGet, "/v1/responses/imp_turn1", ""); status != http.StatusNotFound {
		t.Errorf("an import is a response: status %d: %s", status, data)
	}
}
