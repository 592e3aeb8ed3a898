package store_test

import (
	"fmt"
	"testing"
	"time"

	"molar/internal/store"
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
