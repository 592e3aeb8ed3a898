package memory_test

import (
	"encoding/json"
	"path/filepath"
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

func begin(t testing.TB, d *mcpservers.Dispatcher, p string) (start store.TurnStart) {
	t.Helper()
	must(t, d, "memory/begin_turn", p, &start)
	return start
}

func TestTurn_IsReadBackAfterARestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	d := serve(t, path)
	raw := must(t, d, "memory/begin_turn", `{"conversation_id":"c","owner":"ann"}`, nil)
	var start store.TurnStart
	if err := json.Unmarshal(raw, &start); err != nil {
		t.Fatal(err)
	}
	wantJSON(t, raw, `{"conversation_id":"c","known":false,"summary":"","covers":0,"messages":[],"servers_read":[],
		"lease":{"conversation_id":"c","token":"`+start.Lease.Token+`","fence":1,"expires":"2026-03-01T12:01:00Z"}}`)
	wantJSON(t, must(t, d, "memory/renew_turn", params(t, object{"lease": start.Lease}), nil),
		`{"lease":{"conversation_id":"c","token":"`+start.Lease.Token+`","fence":1,"expires":"2026-03-01T12:01:00Z"}}`)
	wantJSON(t, must(t, d, "memory/list", `{"owner":"ann"}`, nil), `{"conversations":[],"next":""}`)
	saved := must(t, d, "memory/save_turn", params(t, object{
		"lease": start.Lease, "key": "k", "turn_id": "turn_1", "user": "q", "answer": "a", "language": "vi",
		"calls": []object{{"server": "s"}}, "sources": []schemas.Source{{Title: "T", URL: "https://t.example"}}, "servers_read": []string{"s"},
	}), nil)
	wantJSON(t, saved, `{"turn_id":"turn_1","saved_at":"2026-03-01T12:00:00Z"}`)

	d = serve(t, path) // a second one: what is saved is in the file
	raw = must(t, d, "memory/begin_turn", `{"conversation_id":"c","owner":"ann"}`, nil)
	if err := json.Unmarshal(raw, &start); err != nil {
		t.Fatal(err)
	}
	wantJSON(t, raw, `{"conversation_id":"c","known":true,"summary":"","covers":0,"servers_read":["s"],"messages":[
		{"seq":1,"role":"user","content":"q","timestamp":"2026-03-01T12:00:00Z","turn_id":"turn_1"},
		{"seq":2,"role":"assistant","content":"a","timestamp":"2026-03-01T12:00:00Z","turn_id":"turn_1",
			"sources":[{"title":"T","url":"https://t.example"}],"calls":[{"server":"s"}]}],
		"lease":{"conversation_id":"c","token":"`+start.Lease.Token+`","fence":2,"expires":"2026-03-01T12:01:00Z"}}`)
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

func TestTurn_OldFenceIsRefused(t *testing.T) {
	d := fresh(t)
	old := begin(t, d, `{"conversation_id":"c"}`).Lease
	newer := begin(t, d, `{"conversation_id":"c"}`).Lease
	for _, method := range []string{"memory/save_turn", "memory/renew_turn"} {
		_, failed := call(t, d, method, params(t, object{"lease": old, "user": "q", "answer": "old"}))
		if failed == nil || failed.Code != mcpservers.CodeConflict {
			t.Errorf("%s: %v", method, failed)
		}
	}
	must(t, d, "memory/save_turn", params(t, object{"lease": newer, "user": "q", "answer": "new"}), nil)
}

func TestClaimSummaries(t *testing.T) {
	d := fresh(t)
	lease := begin(t, d, `{"conversation_id":"c","owner":"ann"}`).Lease
	must(t, d, "memory/save_turn", params(t, object{"lease": lease, "user": "q", "answer": "a", "language": "en", "turn_id": "t"}), nil)
	wantJSON(t, must(t, d, "memory/claim_summaries", `{"limit":5}`, nil), `{"items":[{"owner":"ann","conversation_id":"c",
		"summary":"","covers":0,"language":"en","messages":[
		{"seq":1,"role":"user","content":"q","timestamp":"2026-03-01T12:00:00Z","turn_id":"t"},
		{"seq":2,"role":"assistant","content":"a","timestamp":"2026-03-01T12:00:00Z","turn_id":"t"}]}]}`)
	wantJSON(t, must(t, d, "memory/claim_summaries", `{}`, nil), `{"items":[]}`)
	must(t, d, "memory/set_summary", `{"conversation_id":"c","owner":"ann","summary":"S","covers":2}`, nil)
	start := begin(t, d, `{"conversation_id":"c","owner":"ann"}`)
	if start.Summary != "S" || start.Covers != 2 || len(start.Messages) != 0 {
		t.Errorf("after the summary: %v", start)
	}
	_, failed := call(t, d, "memory/set_summary", `{"conversation_id":"c","owner":"ann","summary":"late","covers":1}`)
	if failed == nil || failed.Code != mcpservers.CodeConflict {
		t.Errorf("a late worker got %v", failed)
	}
}

// bench is a server over a real file with one conversation of ten turns, the
// last of which is not summarised.
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

// BenchmarkBeginAndSaveTurn waits for the disk: each save is synced.
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
