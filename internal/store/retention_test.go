package store_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"molar/internal/store"
	"molar/schemas"
)

func TestDB_DeleteOlder(t *testing.T) {
	testDeleteOlder(t, func(now func() time.Time) *store.DB { return openAt(t, now) })
}

func testDeleteOlder(t *testing.T, open func(now func() time.Time) *store.DB) {
	ctx := t.Context()
	start := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	now := start
	db := open(func() time.Time { return now })
	const old = 250 // more than two batches
	for i := range old {
		if err := db.Ensure(ctx, "ann", fmt.Sprint("old", i)); err != nil {
			t.Fatal(err)
		}
	}
	saveTurn(t, db, "revived", "t1", "old")
	if err := db.PutTraces(ctx, []store.Trace{
		{TurnID: "a", ConversationID: "old1", Owner: "ann", Body: []byte(`{}`)},
		{TurnID: "b", ConversationID: "refused", Body: []byte(`{}`)},
		{TurnID: "c", ConversationID: "old2", Owner: "ann", CreatedAt: start.Add(2 * time.Hour), Body: []byte(`{}`)},
		{TurnID: "d", ConversationID: "new", CreatedAt: start.Add(2 * time.Hour), Body: []byte(`{}`)},
	}); err != nil {
		t.Fatal(err)
	}
	now = start.Add(2 * time.Hour)
	saveTurn(t, db, "revived", "t2", "new")
	saveTurn(t, db, "new", "t3", "new")
	if n, err := db.DeleteOlder(ctx, start); n != 0 || err != nil {
		t.Errorf("%d were older than the first: %v", n, err)
	}
	if n, err := db.DeleteOlder(ctx, start.Add(time.Hour)); n != old || err != nil {
		t.Errorf("deleted %d, want %d: %v", n, old, err)
	}
	page, err := db.List(ctx, store.ListRequest{Limit: 10})
	if err != nil || len(page.Conversations) != 2 {
		t.Errorf("left %v, %v", page.Conversations, err)
	}
	if _, total, err := db.Messages(ctx, "", "revived", store.MessageRange{}); total != 4 || err != nil {
		t.Errorf("%d messages of the revived one, %v", total, err)
	}
	traces, err := db.ListTraces(ctx, 10)
	if err != nil || len(traces) != 1 || traces[0].TurnID != "d" {
		t.Errorf("traces %v, %v", traces, err)
	}
}

func TestDB_DeleteOlderOf(t *testing.T) {
	testDeleteOlderOf(t, func(now func() time.Time) *store.DB { return openAt(t, now) })
}

// The retention of one assistant takes the conversations that it answered last, with what hangs on them;
// that of all others leaves those, however old, and takes those of assistants that nobody names any more.
func testDeleteOlderOf(t *testing.T, open func(now func() time.Time) *store.DB) {
	ctx := t.Context()
	start := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name   string
		delete func(db *store.DB) (int, error)
		left   []string
	}{
		{"of one", func(db *store.DB) (int, error) { return db.DeleteOlderOf(ctx, start.Add(time.Hour), "legal") }, []string{"gone", "help", "moved", "new"}},
		{"of all but one", func(db *store.DB) (int, error) { return db.DeleteOlder(ctx, start.Add(time.Hour), "legal") }, []string{"legal", "new", "taken over"}},
		{"of all", func(db *store.DB) (int, error) { return db.DeleteOlder(ctx, start.Add(time.Hour)) }, []string{"new"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			now := start
			db := open(func() time.Time { return now })
			answer := func(id, assistant string) {
				begun, err := db.BeginTurn(ctx, store.TurnRequest{Owner: "ann", ConversationID: id, TTL: time.Minute})
				if err != nil {
					t.Fatal(err)
				}
				turn := fmt.Sprint(id, begun.Tip)
				if _, err := db.SaveTurn(ctx, store.Turn{Lease: begun.Lease, TurnID: turn, User: "q", Answer: "a", Assistant: assistant}); err != nil {
					t.Fatal(err)
				}
				for _, err := range []error{
					db.PutTraces(ctx, []store.Trace{{TurnID: turn, ConversationID: id, Owner: "ann", Body: []byte(`{}`)}}),
					db.PutWire(ctx, store.Wire{TurnID: turn, ConversationID: id, Owner: "ann", Started: now, Expires: now.Add(time.Hour), Tape: []byte("x")}),
					db.PutResponse(ctx, schemas.StoredResponse{ID: turn, ConversationID: id, Owner: "ann", CreatedAt: now, Body: []byte(`{}`)}),
					db.KeepResult(ctx, schemas.KeptResult{ID: turn, ConversationID: id, Owner: "ann", Started: now, Text: "x"}),
				} {
					if err != nil {
						t.Fatal(err)
					}
				}
			}
			for _, c := range [][2]string{{"help", "help"}, {"legal", "legal"}, {"gone", "renamed"}, {"moved", "legal"}, {"moved", "help"}, {"taken over", "help"}, {"taken over", "legal"}} {
				answer(c[0], c[1])
			}
			now = start.Add(2 * time.Hour)
			answer("new", "legal")
			if _, err := tt.delete(db); err != nil {
				t.Fatal(err)
			}
			page, err := db.List(ctx, store.ListRequest{Limit: 10})
			if err != nil {
				t.Fatal(err)
			}
			hangs := map[string][]string{}
			for r, err := range db.ExportPerson(ctx, "ann") {
				if err != nil {
					t.Fatal(err)
				}
				var row struct {
					ConversationID string `json:"conversation_id"`
				}
				if err := json.Unmarshal(r.Data, &row); err != nil {
					t.Fatal(err)
				}
				if !slices.Contains(hangs[r.Kind], row.ConversationID) {
					hangs[r.Kind] = append(hangs[r.Kind], row.ConversationID)
				}
			}
			for _, c := range page.Conversations {
				hangs["list"] = append(hangs["list"], c.ID)
			}
			for _, kind := range []string{"list", "traces", "wires", "responses", "kept results"} {
				slices.Sort(hangs[kind])
				if !slices.Equal(hangs[kind], tt.left) {
					t.Errorf("%s: left of %v, want %v", kind, hangs[kind], tt.left)
				}
			}
		})
	}
}
