package memory_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"molar/internal/store"
	"molar/mcpservers"
	"molar/mcpservers/memory"
	"molar/schemas"
)

func params(t testing.TB, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

type object = map[string]any

func begin(t testing.TB, d *mcpservers.Dispatcher, p string) (start schemas.Opening) {
	t.Helper()
	must(t, d, "memory/begin_turn", p, &start)
	return start
}

func TestTurn_IsReadBackAfterARestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	d := serve(t, path)
	raw := must(t, d, "memory/begin_turn", `{"conversation_id":"c","owner":"ann"}`, nil)
	var start schemas.Opening
	if err := json.Unmarshal(raw, &start); err != nil {
		t.Fatal(err)
	}
	wantJSON(t, raw, `{"conversation_id":"c","known":false,"summary":"","covers":0,"messages":[],"servers_read":[],
		"lease":{"conversation_id":"c","token":"`+start.Lease.Token+`","fence":1,"expires":"2026-03-01T12:00:15Z"}}`)
	wantJSON(t, must(t, d, "memory/renew_turn", params(t, object{"lease": start.Lease}), nil),
		`{"lease":{"conversation_id":"c","token":"`+start.Lease.Token+`","fence":1,"expires":"2026-03-01T12:00:15Z"}}`)
	wantJSON(t, must(t, d, "memory/list", `{"owner":"ann"}`, nil), `{"conversations":[],"next":""}`)
	saved := must(t, d, "memory/save_turn", params(t, object{
		"lease": start.Lease, "key": "k", "turn_id": "turn_1", "user": "q", "answer": "a", "language": "vi",
		"calls": []object{{"server": "s"}}, "sources": []schemas.Source{{Title: "T", URL: "https://t.example"}}, "servers_read": []string{"s"},
	}), nil)
	wantJSON(t, saved, `{"turn_id":"turn_1","saved_at":"2026-03-01T12:00:00Z"}`)

	d = serve(t, path) // a second server reads the saved turn from the file
	raw = must(t, d, "memory/begin_turn", `{"conversation_id":"c","owner":"ann"}`, nil)
	if err := json.Unmarshal(raw, &start); err != nil {
		t.Fatal(err)
	}
	wantJSON(t, raw, `{"conversation_id":"c","known":true,"tip":"turn_1","summary":"","covers":0,"servers_read":["s"],"messages":[
		{"seq":1,"role":"user","content":"q","timestamp":"2026-03-01T12:00:00Z","turn_id":"turn_1"},
		{"seq":2,"role":"assistant","content":"a","timestamp":"2026-03-01T12:00:00Z","turn_id":"turn_1",
			"sources":[{"title":"T","url":"https://t.example"}],"calls":[{"server":"s"}]}],
		"lease":{"conversation_id":"c","token":"`+start.Lease.Token+`","fence":2,"expires":"2026-03-01T12:00:15Z"}}`)
	var full struct{ Messages []schemas.StoredMessage }
	must(t, d, "memory/get_all_messages", `{"conversation_id":"c","full":true}`, &full)
	if diff := cmp.Diff(start.Messages, full.Messages); diff != "" {
		t.Errorf("full history:\n%s", diff)
	}
}

func TestTurn_RepeatsAreFound(t *testing.T) {
	d := fresh(t)
	start := begin(t, d, `{"owner":"ann","key":"k"}`)
	save := params(t, object{"lease": start.Lease, "key": "k", "user": "q", "answer": "a"})
	first := must(t, d, "memory/save_turn", save, nil)
	wantJSON(t, must(t, d, "memory/save_turn", save, nil), string(first))

	again := begin(t, d, `{"owner":"ann","key":"k"}`)
	if again.Finished == nil || again.Finished.Answer != "a" || again.ConversationID != start.ConversationID {
		t.Fatalf("the key found %v", again)
	}
	var history struct{ Messages []json.RawMessage }
	must(t, d, "memory/get_all_messages", params(t, object{"conversation_id": start.ConversationID}), &history)
	if len(history.Messages) != 2 {
		t.Errorf("%d messages, want 2", len(history.Messages))
	}
	if other := begin(t, d, `{"owner":"bob","key":"k"}`); other.Finished != nil {
		t.Errorf("bob's key found %v", other.Finished)
	}
}

// A conversation has one turn at a time: others get the error that it is busy, with the longest
// time to wait. An ended lease is invalid.
func TestTurn_OneAtATime(t *testing.T) {
	d := fresh(t)
	old := begin(t, d, `{"conversation_id":"c"}`).Lease
	answer := d.Handle(t.Context(), "test", json.RawMessage(`{"jsonrpc":"2.0","id":1,"method":"memory/begin_turn","params":{"conversation_id":"c"}}`))
	wantJSON(t, answer, `{"jsonrpc":"2.0","id":1,"error":{"code":-32004,
		"message":"begin turn: another turn of the conversation is running","data":{"retry_after_ms":15000}}}`)
	for range 2 { // the second time another turn has the lease, or none
		must(t, d, "memory/end_turn", params(t, object{"lease": old}), nil)
	}
	newer := begin(t, d, `{"conversation_id":"c"}`).Lease
	for _, method := range []string{"memory/save_turn", "memory/renew_turn"} {
		_, failed := call(t, d, method, params(t, object{"lease": old, "turn_id": "old", "user": "q", "answer": "old"}))
		if failed == nil || failed.Code != mcpservers.CodeConflict {
			t.Errorf("%s: %v", method, failed)
		}
	}
	must(t, d, "memory/save_turn", params(t, object{"lease": newer, "user": "q", "answer": "new"}), nil)
}

// An interrupted turn is read with its calls and what was shown of it.
func TestTurn_Interrupted(t *testing.T) {
	d := fresh(t)
	lease := begin(t, d, `{"conversation_id":"c"}`).Lease
	call := schemas.ToolCall{ID: "c1", Function: schemas.FunctionCall{Name: "s__add", Arguments: `{"a":1}`}}
	must(t, d, "memory/save_turn", params(t, object{
		"lease": lease, "turn_id": "t1", "user": "q", "answer": "One moment", "assistant": "general", "language": "en", "status": "interrupted",
		"calls": []schemas.Round{{Said: schemas.Message{Role: schemas.RoleAssistant, Parts: []schemas.Part{{Kind: schemas.PartCall, Call: &call}}}}},
	}), nil)
	wantJSON(t, must(t, d, "memory/get_turn", `{"turn_id":"t1"}`, nil), `{"turn_id":"t1","conversation_id":"c","assistant":"general",
		"status":"interrupted","question":"q","answer":"One moment","began_at":"2026-03-01T12:00:00Z","saved_at":"2026-03-01T12:00:00Z"}`)
	wantJSON(t, must(t, d, "memory/get_all_messages", `{"conversation_id":"c","full":true}`, nil), `{"messages":[
		{"seq":1,"role":"user","content":"q","timestamp":"2026-03-01T12:00:00Z","turn_id":"t1"},
		{"seq":2,"role":"assistant","content":"One moment","timestamp":"2026-03-01T12:00:00Z","turn_id":"t1","assistant":"general","status":"interrupted",
		"calls":[{"said":{"role":"assistant","parts":[{"kind":"call","call":{"id":"c1","function":{"name":"s__add","arguments":"{\"a\":1}"}}}]}}]}]}`)
	wantJSON(t, must(t, d, "memory/get_context", `{"conversation_id":"c"}`, nil),
		`{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"One moment"}]}`)
}

// If an earlier turn is asked again, the documented methods show the newest branch, and the
// others can be selected.
func TestTurn_Branches(t *testing.T) {
	d := fresh(t)
	save := func(id, parent string) {
		t.Helper()
		p := object{"conversation_id": "c"}
		if parent != "-" {
			p["parent"] = parent
		}
		must(t, d, "memory/save_turn", params(t, object{"lease": begin(t, d, params(t, p)).Lease, "turn_id": id, "user": "q" + id, "answer": "a" + id}), nil)
	}
	save("1", "-")
	save("2", "-")
	save("3", "1")
	save("4", "")
	said := func(p string) (all string) {
		t.Helper()
		var got struct {
			Messages []struct {
				Content    string
				ParentTurn string `json:"parent_turn"`
			}
		}
		must(t, d, "memory/get_all_messages", p, &got)
		for _, m := range got.Messages {
			if all += m.Content + " "; m.ParentTurn != "" {
				all += "(" + m.ParentTurn + ") "
			}
		}
		return strings.TrimSpace(all)
	}
	for p, want := range map[string]string{
		`{"conversation_id":"c"}`:                                 "q4 a4",
		`{"conversation_id":"c","tip":"3"}`:                       "q1 a1 q3 a3",
		`{"conversation_id":"c","tip":"2","full":true,"limit":3}`: "q1 a1 q2 (1)",
		`{"conversation_id":"c","tip":"2","limit":3,"after":3}`:   "a2",
		`{"conversation_id":"c","tree":true,"full":true}`:         "q1 a1 q2 (1) a2 q3 (1) a3 q4 a4",
		`{"conversation_id":"c","tree":true,"limit":2,"after":2}`: "q2 a2",
	} {
		if got := said(p); got != want {
			t.Errorf("%s: %s, want %s", p, got, want)
		}
	}
	var resource struct{ Contents []struct{ Text string } }
	must(t, d, "resources/read", `{"uri":"memory://conversation/c"}`, &resource)
	if n := strings.Count(resource.Contents[0].Text, `"role"`); n != 8 {
		t.Errorf("the resource has %d messages", n)
	}
	for _, method := range []string{"memory/begin_turn", "memory/get_all_messages"} {
		_, failed := call(t, d, method, `{"conversation_id":"c","parent":"none","tip":"none"}`)
		if failed == nil || failed.Code != mcpservers.CodeResourceNotFound || !strings.Contains(failed.Message, `no such turn in this conversation: "none"`) {
			t.Errorf("%s: %v", method, failed)
		}
	}
}

func TestClaimSummaries(t *testing.T) {
	d := fresh(t)
	lease := begin(t, d, `{"conversation_id":"c","owner":"ann"}`).Lease
	must(t, d, "memory/save_turn", params(t, object{"lease": lease, "user": "q", "answer": "a", "language": "en", "turn_id": "t"}), nil)
	wantJSON(t, must(t, d, "memory/claim_summaries", `{"limit":5}`, nil), `{"items":[{"owner":"ann","conversation_id":"c",
		"summary":"","covers":0,"language":"en","untitled":true,"messages":[
		{"seq":1,"role":"user","content":"q","timestamp":"2026-03-01T12:00:00Z","turn_id":"t"},
		{"seq":2,"role":"assistant","content":"a","timestamp":"2026-03-01T12:00:00Z","turn_id":"t"}]}]}`)
	wantJSON(t, must(t, d, "memory/claim_summaries", `{}`, nil), `{"items":[]}`)
	must(t, d, "memory/set_summary", `{"conversation_id":"c","owner":"ann","summary":"S","covers":2}`, nil)
	start := begin(t, d, `{"conversation_id":"c","owner":"ann"}`)
	if start.Summary != "S" || start.Covers != 2 || len(start.Messages) != 2 || start.Pieces[0] != (schemas.Piece{Seq: 2, Condensed: "S"}) {
		t.Errorf("after the summary: %v", start)
	}
	_, failed := call(t, d, "memory/set_summary", `{"conversation_id":"c","owner":"ann","summary":"late","covers":1}`)
	if failed == nil || failed.Code != mcpservers.CodeConflict {
		t.Errorf("a late worker got %v", failed)
	}
}

// bench returns a server over a real file with one conversation of ten turns, the last of which
// is not summarised.
func bench(b *testing.B) *mcpservers.Dispatcher {
	b.Helper()
	db, err := store.Open(b.Context(), store.Config{Path: filepath.Join(b.TempDir(), "m.db")})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close() })
	d, err := memory.New(memory.Config{Store: db})
	if err != nil {
		b.Fatal(err)
	}
	for range 10 {
		saveBench(b, d)
	}
	if err := db.SetSummary(b.Context(), "", "c", "a summary of what was said", new(int64(18))); err != nil {
		b.Fatal(err)
	}
	return d
}

func saveBench(b *testing.B, d *mcpservers.Dispatcher) {
	lease := begin(b, d, `{"conversation_id":"c"}`).Lease
	must(b, d, "memory/save_turn", params(b, object{"lease": lease, "user": "How often should I brush?", "answer": "Twice a day."}), nil)
}

func BenchmarkContextRead(b *testing.B) {
	d := bench(b)
	msg := json.RawMessage(`{"jsonrpc":"2.0","method":"memory/get_context","params":{"conversation_id":"c"},"id":1}`)
	b.ReportAllocs()
	for b.Loop() {
		d.Handle(b.Context(), "bench", msg)
	}
}

func BenchmarkBeginTurn(b *testing.B) {
	d := bench(b)
	msg := json.RawMessage(`{"jsonrpc":"2.0","method":"memory/begin_turn","params":{"conversation_id":"c","owner":""},"id":1}`)
	b.ReportAllocs()
	for b.Loop() {
		d.Handle(b.Context(), "bench", msg)
	}
}

// BenchmarkBeginAndSaveTurn includes the disk: each save is synced.
func BenchmarkBeginAndSaveTurn(b *testing.B) {
	d := bench(b)
	n := 0
	for b.Loop() {
		n++
		p := params(b, object{"conversation_id": time.Duration(n).String()})
		lease := begin(b, d, p).Lease
		must(b, d, "memory/save_turn", params(b, object{"lease": lease, "user": "q", "answer": "a"}), nil)
	}
}
