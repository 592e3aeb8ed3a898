package store_test

import (
	"strings"
	"testing"
	"time"

	"molar/internal/store"
	"molar/schemas"
)

func TestKeptResults(t *testing.T) {
	testKeptResults(t, func(now func() time.Time) *store.DB { return stateOpenAt(t, now) })
}

// A kept result is its owner's and its conversation's, and goes with it. The oldest of a
// conversation go when they are too large together; others' stay.
func testKeptResults(t *testing.T, open func(now func() time.Time) *store.DB) {
	ctx := t.Context()
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	db := open(func() time.Time { return now })
	text := "hàng thứ\x00 một " + strings.Repeat("x", 8<<20-100)
	keep := func(conversation, id string, started time.Time) {
		t.Helper()
		if err := db.KeepResult(ctx, schemas.KeptResult{Owner: "ann", ConversationID: conversation, ID: id, Server: "disk", Text: text, Started: started}); err != nil {
			t.Fatal(err)
		}
		now = now.Add(time.Millisecond)
	}
	check := func(what, owner, conversation, id string, want bool) {
		t.Helper()
		got, ok, err := db.GetKeptResult(ctx, owner, conversation, id)
		if err != nil || ok != want || ok && (got.Text != text || got.Server != "disk") {
			t.Errorf("%s: %v %v, %d bytes of %q", what, ok, err, len(got.Text), got.Server)
		}
	}
	keep("d", "1", now)
	for _, id := range []string{"1", "2", "3", "4", "5", "6", "7", "8"} {
		keep("c", id, now)
	}
	check("kept", "ann", "c", "1", true)
	for owner, want := range map[string]bool{"ann": true, "bob": false} {
		if has, err := db.HasKeptResults(ctx, owner, "c"); err != nil || has != want {
			t.Errorf("%s has some: %v, %v", owner, has, err)
		}
	}
	check("of another owner", "bob", "c", "1", false)
	check("unknown", "ann", "c", "0", false)
	keep("c", "9", now)
	check("the oldest beyond 64 MiB", "ann", "c", "1", false)
	check("the second", "ann", "c", "2", true)
	check("the newest", "ann", "c", "9", true)
	check("of another conversation", "ann", "d", "1", true)
	began := now
	now = now.Add(time.Minute)
	if err := db.ForgetConversation(ctx, "ann", "c"); err != nil {
		t.Fatal(err)
	}
	check("of an erased conversation", "ann", "c", "9", false)
	keep("c", "10", began)
	check("of a turn that began before the erasure", "ann", "c", "10", false)
	if _, err := db.DeleteOlder(ctx, now.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	check("older than the retention", "ann", "d", "1", false)
}
