package memory_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"molar/internal/store"
	"molar/mcpservers"
	"molar/mcpservers/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// serve returns a memory server over the database at path, whose clock always shows noon.
func serve(t testing.TB, path string) *mcpservers.Dispatcher {
	t.Helper()
	db, err := store.Open(t.Context(), store.Config{Path: path, Now: func() time.Time { return noon }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	d, err := memory.New(memory.Config{Store: db, CompressAfterSummary: true})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func fresh(t testing.TB) *mcpservers.Dispatcher {
	t.Helper()
	return serve(t, filepath.Join(t.TempDir(), "memory.db"))
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// call sends a request and returns the result and the error of the answer.
func call(t testing.TB, d *mcpservers.Dispatcher, method, params string) (json.RawMessage, *rpcError) {
	t.Helper()
	msg := fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":%s,"id":1}`, method, params)
	var answer struct {
		Result json.RawMessage `json:"result"`
		Error  *rpcError       `json:"error"`
	}
	got := d.Handle(t.Context(), "test", json.RawMessage(msg))
	if err := json.Unmarshal(got, &answer); err != nil {
		t.Fatalf("%s answered %q: %v", method, got, err)
	}
	return answer.Result, answer.Error
}

// must is call for requests that must succeed; into may be nil.
func must(t testing.TB, d *mcpservers.Dispatcher, method, params string, into any) json.RawMessage {
	t.Helper()
	result, failed := call(t, d, method, params)
	if failed != nil {
		t.Fatalf("%s %s: %v", method, params, failed)
	}
	if into != nil {
		if err := json.Unmarshal(result, into); err != nil {
			t.Fatal(err)
		}
	}
	return result
}

func wantJSON(t *testing.T, got json.RawMessage, want string) {
	t.Helper()
	var g, w any
	if err := json.Unmarshal(got, &g); err != nil {
		t.Fatalf("%q: %v", got, err)
	}
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		t.Fatalf("%q: %v", want, err)
	}
	if diff := cmp.Diff(w, g); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// Each step is a request as a client sends it and its result, in one sequence: a conversation of
// eight messages from its beginning to its end.
func TestDocumentedMethods(t *testing.T) {
	d := fresh(t)
	for _, s := range []struct{ method, params, want string }{
		{"memory/get_or_create", `{"conversation_id":"chat_xxx"}`, `{"conversation_id":"chat_xxx"}`},
		{"memory/get_or_create", `{"conversation_id":"chat_xxx"}`, `{"conversation_id":"chat_xxx"}`},
		{"memory/get_context", `{"conversation_id":"chat_xxx","max_messages":20}`, `{"messages":[]}`},
		{"memory/get_old_messages", `{"conversation_id":"chat_xxx"}`, `{"messages":[],"total_count":0}`},
		{"memory/add_message", `{"conversation_id":"chat_xxx","role":"user","content":"hỏi 1"}`, `{"status":"success","conversation_id":"chat_xxx"}`},
		{"memory/add_message", `{"conversation_id":"chat_xxx","role":"assistant","content":"đáp 1"}`, `{"status":"success","conversation_id":"chat_xxx"}`},
		{"memory/add_message", `{"conversation_id":"chat_xxx","role":"system","content":"note"}`, `{"status":"success","conversation_id":"chat_xxx"}`},
		{"memory/add_message", `{"conversation_id":"chat_xxx","role":"assistant","content":"4"}`, `{"status":"success","conversation_id":"chat_xxx"}`},
		{"memory/add_message", `{"conversation_id":"chat_xxx","role":"user","content":"5"}`, `{"status":"success","conversation_id":"chat_xxx"}`},
		{"memory/add_message", `{"conversation_id":"chat_xxx","role":"assistant","content":"6"}`, `{"status":"success","conversation_id":"chat_xxx"}`},
		{"memory/add_message", `{"conversation_id":"chat_xxx","role":"user","content":"7"}`, `{"status":"success","conversation_id":"chat_xxx"}`},
		{"memory/add_message", `{"conversation_id":"chat_xxx","role":"assistant","content":""}`, `{"status":"success","conversation_id":"chat_xxx"}`},
		{"memory/get_context", `{"conversation_id":"chat_xxx","max_messages":20}`, `{"messages":[
			{"role":"system","content":"note"},{"role":"assistant","content":"4"},{"role":"user","content":"5"},
			{"role":"assistant","content":"6"},{"role":"user","content":"7"},{"role":"assistant","content":""}]}`},
		{"memory/get_context", `{"conversation_id":"chat_xxx","max_messages":1}`, `{"messages":[{"role":"assistant","content":""}]}`},
		{"memory/get_old_messages", `{"conversation_id":"chat_xxx"}`, `{"messages":[
			{"role":"user","content":"hỏi 1"},{"role":"assistant","content":"đáp 1"}],"total_count":8}`},
		{"memory/get_or_create_summary", `{"conversation_id":"chat_xxx","old_messages":[{"role":"user","content":"hỏi 1"}],"language":"vi"}`, `{"summary":""}`},
		{"memory/set_summary", `{"conversation_id":"chat_xxx","summary":"Tóm tắt 1\n\nTóm tắt 2","compress":false}`, `{"status":"success","conversation_id":"chat_xxx"}`},
		{"memory/get_summary", `{"conversation_id":"chat_xxx"}`, `{"summary":"Tóm tắt 1\n\nTóm tắt 2"}`},
		{"memory/get_or_create_summary", `{"conversation_id":"chat_xxx"}`, `{"summary":"Tóm tắt 1\n\nTóm tắt 2"}`},
		{"memory/get_old_messages", `{"conversation_id":"chat_xxx"}`, `{"messages":[],"total_count":8}`},
		{"memory/get_all_messages", `{"conversation_id":"chat_xxx"}`, `{"messages":[
			{"role":"user","content":"hỏi 1"},{"role":"assistant","content":"đáp 1"},
			{"role":"system","content":"note"},{"role":"assistant","content":"4"},{"role":"user","content":"5"},
			{"role":"assistant","content":"6"},{"role":"user","content":"7"},{"role":"assistant","content":""}]}`},
		{"resources/list", `{}`, `{"resources":[{"uri":"memory://conversation/chat_xxx","name":"Conversation chat_xxx",
			"description":"Conversation history for chat_xxx","mimeType":"application/json"}]}`},
		{"memory/clear", `{"conversation_id":"chat_xxx"}`, `{"status":"cleared","conversation_id":"chat_xxx"}`},
		{"memory/get_all_messages", `{"conversation_id":"chat_xxx"}`, `{"messages":[]}`},
		{"memory/get_summary", `{"conversation_id":"chat_xxx"}`, `{"summary":""}`},
		{"memory/delete", `{"conversation_id":"chat_xxx"}`, `{"status":"deleted","conversation_id":"chat_xxx"}`},
		{"resources/list", `{}`, `{"resources":[]}`},
		{"tools/list", `{}`, `{"tools":[]}`},
	} {
		result, failed := call(t, d, s.method, s.params)
		if failed != nil {
			t.Fatalf("%s %s: %v", s.method, s.params, failed)
		}
		t.Run(strings.ReplaceAll(s.method, "/", "_"), func(t *testing.T) { wantJSON(t, result, s.want) })
	}
}

func TestGetOrCreate_MakesAnID(t *testing.T) {
	d := fresh(t)
	for _, method := range []string{"memory/get_or_create", "memory/begin_turn"} {
		var got struct {
			ConversationID string `json:"conversation_id"`
		}
		must(t, d, method, `{}`, &got)
		if !regexp.MustCompile(`^chat_[0-9a-f-]{36}$`).MatchString(got.ConversationID) {
			t.Errorf("%s gave id %q", method, got.ConversationID)
		}
	}
}

func TestResourcesRead(t *testing.T) {
	d := fresh(t)
	read := func(uri string) (text string) {
		var got struct {
			Contents []struct{ URI, MimeType, Text string }
		}
		must(t, d, "resources/read", fmt.Sprintf(`{"uri":%q}`, uri), &got)
		if len(got.Contents) != 1 || got.Contents[0].URI != uri || got.Contents[0].MimeType != "application/json" {
			t.Fatalf("contents %v", got)
		}
		return got.Contents[0].Text
	}
	must(t, d, "memory/add_message", `{"conversation_id":"a b/ă","role":"user","content":"hi"}`, nil)
	var list struct{ Resources []struct{ URI string } }
	must(t, d, "resources/list", `{}`, &list)
	uri := list.Resources[0].URI
	wantJSON(t, json.RawMessage(read(uri)),
		`{"messages":[{"role":"user","content":"hi","timestamp":"2026-03-01T12:00:00Z"}],"summary":{"text":"","updated_at":null}}`)
	must(t, d, "memory/set_summary", `{"conversation_id":"a b/ă","summary":"S"}`, nil)
	wantJSON(t, json.RawMessage(read(uri)), `{"messages":[{"role":"user","content":"hi","timestamp":"2026-03-01T12:00:00Z"}],
		"summary":{"text":"S","updated_at":"2026-03-01T12:00:00Z"}}`)
}

func TestRefusals(t *testing.T) {
	d := fresh(t)
	must(t, d, "memory/add_message", `{"conversation_id":"anns","owner":"ann","role":"user","content":"hi"}`, nil)
	long := strings.Repeat("x", 300)
	for name, c := range map[string]struct {
		method, params string
		code           int
	}{
		"clear unknown":         {"memory/clear", `{"conversation_id":"c"}`, mcpservers.CodeResourceNotFound},
		"delete unknown":        {"memory/delete", `{"conversation_id":"c"}`, mcpservers.CodeResourceNotFound},
		"rename unknown":        {"memory/rename", `{"conversation_id":"c","title":"t"}`, mcpservers.CodeResourceNotFound},
		"summary of unknown":    {"memory/set_summary", `{"conversation_id":"c","summary":"s"}`, mcpservers.CodeResourceNotFound},
		"read unknown":          {"resources/read", `{"uri":"memory://conversation/c"}`, mcpservers.CodeResourceNotFound},
		"read something else":   {"resources/read", `{"uri":"file:///etc/passwd"}`, mcpservers.CodeResourceNotFound},
		"read a broken address": {"resources/read", `{"uri":"memory://conversation/%zz"}`, mcpservers.CodeResourceNotFound},
		"read no address":       {"resources/read", `{}`, mcpservers.CodeInvalidParams},
		"clear another's":       {"memory/clear", `{"conversation_id":"anns","owner":"bob"}`, mcpservers.CodeResourceNotFound},
		"delete another's":      {"memory/delete", `{"conversation_id":"anns","owner":"bob"}`, mcpservers.CodeResourceNotFound},
		"rename another's":      {"memory/rename", `{"conversation_id":"anns","owner":"bob","title":"t"}`, mcpservers.CodeResourceNotFound},
		"read another's":        {"resources/read", `{"uri":"memory://conversation/anns","owner":"bob"}`, mcpservers.CodeResourceNotFound},
		"unknown turn":          {"memory/get_turn", `{"turn_id":"t"}`, mcpservers.CodeResourceNotFound},
		"no turn":               {"memory/get_turn", `{}`, mcpservers.CodeInvalidParams},
		"role tool":             {"memory/add_message", `{"conversation_id":"c","role":"tool","content":"x"}`, mcpservers.CodeInvalidParams},
		"no role":               {"memory/add_message", `{"conversation_id":"c","content":"x"}`, mcpservers.CodeInvalidParams},
		"no content":            {"memory/add_message", `{"conversation_id":"c","role":"user"}`, mcpservers.CodeInvalidParams},
		"content a number":      {"memory/add_message", `{"conversation_id":"c","role":"user","content":1}`, mcpservers.CodeInvalidParams},
		"no summary":            {"memory/set_summary", `{"conversation_id":"anns"}`, mcpservers.CodeInvalidParams},
		"covers too far":        {"memory/set_summary", `{"conversation_id":"anns","summary":"s","covers":2}`, mcpservers.CodeInvalidParams},
		"covers below zero":     {"memory/set_summary", `{"conversation_id":"anns","summary":"s","covers":-1}`, mcpservers.CodeInvalidParams},
		"no id":                 {"memory/get_context", `{}`, mcpservers.CodeInvalidParams},
		"id a number":           {"memory/get_context", `{"conversation_id":1}`, mcpservers.CodeInvalidParams},
		"id too long":           {"memory/get_or_create", `{"conversation_id":"` + long + `"}`, mcpservers.CodeInvalidParams},
		"id with NUL":           {"memory/get_or_create", `{"conversation_id":"a\u0000"}`, mcpservers.CodeInvalidParams},
		"no messages asked":     {"memory/get_context", `{"conversation_id":"c","max_messages":0}`, mcpservers.CodeInvalidParams},
		"list too long":         {"memory/list", `{"limit":1001}`, mcpservers.CodeInvalidParams},
		"list from nowhere":     {"memory/list", `{"after":"x"}`, mcpservers.CodeInvalidParams},
		"claim too many":        {"memory/claim_summaries", `{"limit":-1}`, mcpservers.CodeInvalidParams},
		"empty title":           {"memory/rename", `{"conversation_id":"anns","title":" "}`, mcpservers.CodeInvalidParams},
		"title too long":        {"memory/rename", `{"conversation_id":"anns","title":"` + long + `"}`, mcpservers.CodeInvalidParams},
		"save without lease":    {"memory/save_turn", `{"user":"q","answer":"a"}`, mcpservers.CodeInvalidParams},
		"renew without lease":   {"memory/renew_turn", `{}`, mcpservers.CodeInvalidParams},
		"an odd status": {
			"memory/save_turn", `{"lease":{"conversation_id":"c","token":"t"},"status":"done"}`, mcpservers.CodeInvalidParams,
		},
		"a forged lease": {
			"memory/save_turn", `{"lease":{"conversation_id":"c","token":"t","fence":1}}`, mcpservers.CodeConflict,
		},
		"another case":   {"memory/get_context", `{"Conversation_ID":"c"}`, mcpservers.CodeInvalidParams},
		"unknown method": {"memory/forget", `{}`, mcpservers.CodeMethodNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			result, failed := call(t, d, c.method, c.params)
			if failed == nil || failed.Code != c.code || failed.Message == "" {
				t.Errorf("result %s, error %v, want code %d", result, failed, c.code)
			}
		})
	}
	// Reads of unknown or another owner's conversations are empty; none of the reads above
	// created one.
	for _, id := range []string{"c", "anns"} {
		params := fmt.Sprintf(`{"conversation_id":%q,"owner":"bob"}`, id)
		wantJSON(t, must(t, d, "memory/get_context", params, nil), `{"messages":[]}`)
		wantJSON(t, must(t, d, "memory/get_all_messages", params, nil), `{"messages":[]}`)
		wantJSON(t, must(t, d, "memory/get_old_messages", params, nil), `{"messages":[],"total_count":0}`)
		wantJSON(t, must(t, d, "memory/get_summary", params, nil), `{"summary":""}`)
	}
	wantJSON(t, must(t, d, "memory/list", `{}`, nil), `{"conversations":[{"id":"anns","title":"hi","messages":1,
		"created_at":"2026-03-01T12:00:00Z","updated_at":"2026-03-01T12:00:00Z"}],"next":""}`)
}

func TestNew_Refuses(t *testing.T) {
	if _, err := memory.New(memory.Config{}); err == nil {
		t.Error("made without a store")
	}
}

func FuzzMemory_Handle(f *testing.F) {
	for _, method := range []string{"get_or_create", "get_context", "add_message", "set_summary", "begin_turn", "save_turn", "list", "rename"} {
		f.Add("memory/"+method, []byte(`{"conversation_id":"c","owner":"o","role":"user","content":"x","summary":"s","covers":0,
			"key":"k","lease":{"conversation_id":"c","token":"t","fence":1,"expires":"2026-03-01T12:00:00Z"},"q":"%","title":"t"}`))
		f.Add("memory/"+method, []byte(`{"conversation_id":"\ud800","Owner":1,"lease":null,"limit":1e9,"max_messages":-1}`))
	}
	f.Add("resources/read", []byte(`{"uri":"memory://conversation/%00"}`))
	d := fresh(f)
	f.Fuzz(func(t *testing.T, method string, params []byte) {
		name, err := json.Marshal(method)
		if err != nil {
			t.Fatal(err)
		}
		msg := bytes.Join([][]byte{[]byte(`{"jsonrpc":"2.0","id":1,"method":`), name, []byte(`,"params":`), params, []byte(`}`)}, nil)
		answer := d.Handle(t.Context(), "fuzz", msg)
		if answer != nil && !json.Valid(answer) {
			t.Errorf("answer %q", answer)
		}
		if bytes.Contains(answer, []byte(`"code":-32603`)) {
			t.Errorf("%s %s: internal error %s", method, params, answer)
		}
	})
}
