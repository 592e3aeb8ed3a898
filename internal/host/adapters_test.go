package host_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"molar/agent/answer"
	"molar/internal/host"
	"molar/internal/store"
	"molar/schemas"
)

// What retention took of a turn is its trace: the turn is still told as what is stored of it,
// and to its owner alone.
func TestTraceStore_Untraced(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	db, err := store.Open(t.Context(), store.Config{Path: filepath.Join(t.TempDir(), "molar.db"), Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	lease, err := db.BeginTurn(t.Context(), store.TurnRequest{Owner: "ann", ConversationID: "c", TTL: 15 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	state := json.RawMessage(`{"user":"Why?","assistant":"plain"}`)
	if err := db.Journal("a").Begin(t.Context(), schemas.JournalTurn{ID: "t", Owner: "ann", ConversationID: "c", State: state}); err != nil {
		t.Fatal(err)
	}
	traces := host.TraceStore{DB: db}
	told := func(owner, id string) string {
		t.Helper()
		raw, ok, err := traces.Trace(t.Context(), owner, id)
		if err != nil || !ok {
			return "unknown"
		}
		var trace answer.Trace
		if err := json.Unmarshal(raw, &trace); err != nil {
			t.Fatal(err)
		}
		if trace.Untraced {
			trace.Status += ", untraced"
		}
		return strings.Join([]string{trace.Status, trace.ConversationID, trace.Question, trace.Answer}, "; ")
	}
	want := func(what, owner, id, want string) {
		t.Helper()
		if got := told(owner, id); got != want {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	want("while it runs", "ann", "t", "running; c; Why?; ")
	want("while it runs", "bob", "t", "unknown")
	now = now.Add(time.Minute)
	if _, err := db.Journal("b").TakeLost(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	want("it was taken over", "ann", "t", "running; c; Why?; ")
	if _, err := db.SaveTurn(t.Context(), store.Turn{Lease: lease.Lease, TurnID: "t", User: "Why?", Answer: "So."}); err != nil {
		t.Fatal(err)
	}
	body := json.RawMessage(`{"turn_id":"t","status":"done","conversation_id":"c","question":"Why?","answer":"So (traced)."}`)
	if err := db.PutTraces(t.Context(), []store.Trace{{TurnID: "t", Owner: "ann", ConversationID: "c", CreatedAt: now, Body: body}}); err != nil {
		t.Fatal(err)
	}
	want("with its trace", "ann", "t", "done; c; Why?; So (traced).")
	want("with its trace", "bob", "t", "unknown")
	now = now.Add(8 * 24 * time.Hour)
	if n, err := db.PruneTraces(t.Context(), 7*24*time.Hour, 1<<20); err != nil || n != 1 {
		t.Fatalf("%d traces pruned, %v", n, err)
	}
	want("its trace is too old", "ann", "t", "done, untraced; c; Why?; So.")
	want("to the operator", "", "t", "done, untraced; c; Why?; So.")
	want("to another", "bob", "t", "unknown")
	want("no turn", "", "x", "unknown")
}
