package web_test

import (
	"net/http"
	"strings"
	"testing"

	"molar/agent"
)

// molar.parent names the turn that the new one follows; without it, the new turn follows the
// newest.
func TestChat_Parent(t *testing.T) {
	for molar, want := range map[string]*string{
		``: nil, `"molar":{},`: nil,
		`"molar":{"parent":""},`:   new(""),
		`"molar":{"parent":"t7"},`: new("t7"),
	} {
		run := &keep{}
		w := post(handler(t, run), `{"chat_id":"c1",`+molar+question+`}`)
		got := run.turn.Parent
		if w.Code != 200 || (got == nil) != (want == nil) || got != nil && *got != *want {
			t.Errorf("%s: %d, parent %v", molar, w.Code, got)
		}
	}
	run := &keep{}
	if w := post(handler(t, run), `{"molar":{"parent":""},`+question+`}`); w.Code != 200 || run.turn.Parent != nil {
		t.Errorf("a new conversation: %d, parent %v", w.Code, run.turn.Parent)
	}
}

// The error for an invalid parent names the field.
func TestChat_UnknownParent(t *testing.T) {
	unknown := play(agent.ErrParent, start())
	for body, want := range map[string]string{
		`{"chat_id":"c1","molar":{"parent":"t9"},`:  "",
		`{"chat_id":"c1","molar":{"parent":"a b"},`: `"a b"`,
		`{"molar":{"parent":"t9"},`:                 "chat_id",
	} {
		w := post(handler(t, unknown), body+question+`}`)
		if code, param, message := errorOf(t, w.Body.Bytes()); w.Code != 400 || param != "molar.parent" || !strings.Contains(message, want) {
			t.Errorf("%s: %d %s %s %s", body, w.Code, code, param, message)
		}
	}
}

// For a request with a conversation and without an assistant, the turn chooses the assistant.
func TestChat_ConversationsAssistant(t *testing.T) {
	run := &keep{}
	w := post(handler(t, run), `{"chat_id":"c1","messages":[{"role":"user","content":"hi"}]}`)
	if w.Code != 200 || run.turn.Assistant != "" || !strings.Contains(w.Body.String(), `"model":"dental"`) {
		t.Errorf("%d, assistant %q, %s", w.Code, run.turn.Assistant, w.Body)
	}
}

// A conversation can also be read by branch.
func TestConversations_Branches(t *testing.T) {
	for query, want := range map[string]struct {
		status int
		call   string
	}{
		"":                  {200, ""},
		"?tip=t1":           {200, "branch t1"},
		"?tip=t2":           {404, "branch t2"},
		"?tree=true":        {200, "tree"},
		"?tree=true&tip=t1": {400, ""},
		"?tip=a%20b":        {400, ""},
	} {
		cfg, store := config(t, play(nil)), &fakeStore{}
		cfg.Conversations = store
		w := serve(build(t, cfg), request(http.MethodGet, "/v1/conversations/c1"+query, ""))
		if got := strings.Join(store.calls, ","); w.Code != want.status || got != want.call {
			t.Errorf("%q: %d after %q, %s", query, w.Code, got, w.Body)
		}
	}
}

// If another turn is running in the conversation, the answer is a conflict that may be retried; if
// the answer has already begun, it is an error event.
func TestChat_Busy(t *testing.T) {
	for _, stream := range []string{"", `"stream":true,`} {
		w := post(handler(t, play(agent.ErrBusy)), `{`+stream+question+`}`)
		if code, _, _ := errorOf(t, w.Body.Bytes()); w.Code != 409 || code != "conversation_busy" || w.Header().Get("Retry-After") == "" {
			t.Errorf("%q: %d %s, Retry-After %q", stream, w.Code, code, w.Header().Get("Retry-After"))
		}
	}
	w := post(handler(t, play(agent.ErrBusy, start(), text("a"))), `{"stream":true,`+question+`}`)
	if body := w.Body.String(); w.Code != 200 || !strings.Contains(body, `"code":"conversation_busy"`) || strings.Contains(body, "[DONE]") {
		t.Errorf("after the headers: %d %s", w.Code, body)
	}
}
