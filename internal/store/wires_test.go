package store_test

import (
	"bytes"
	"crypto/rand"
	"testing"
	"time"

	"molar/internal/store"
)

func TestWires(t *testing.T) {
	testWires(t, func(now func() time.Time) *store.DB { return stateOpenAt(t, now) })
}

// The wire traffic of a turn is kept for its time, and goes with its conversation; that of a
// turn whose conversation was erased meanwhile is not stored.
func testWires(t *testing.T, open func(now func() time.Time) *store.DB) {
	ctx := t.Context()
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	db := open(func() time.Time { return now })
	tape := bytes.Repeat([]byte("a line of a tape\n\xff\x00"), 1000)
	put := func(id, conversation string, started time.Time) error {
		return db.PutWire(ctx, store.Wire{TurnID: id, ConversationID: conversation, Owner: "ann", Started: started, Expires: started.Add(time.Hour), Tape: tape})
	}
	check := func(what, id string, want bool) {
		t.Helper()
		got, ok, err := db.GetWire(ctx, id)
		if err != nil || ok != want || ok && !bytes.Equal(got, tape) {
			t.Errorf("%s: %v %v, %d bytes", what, ok, err, len(got))
		}
	}
	for id, conversation := range map[string]string{"t1": "c", "t2": "d"} {
		if err := put(id, conversation, now); err != nil {
			t.Fatal(err)
		}
	}
	check("kept", "t1", true)
	check("unknown", "t9", false)
	now = now.Add(time.Minute)
	if err := db.ForgetConversation(ctx, "ann", "c"); err != nil {
		t.Fatal(err)
	}
	check("forgotten", "t1", false)
	if err := put("t1", "c", now.Add(-time.Second)); err != nil {
		t.Fatal(err)
	}
	check("it ran while its conversation was erased", "t1", false)
	check("another conversation's", "t2", true)
	now = now.Add(time.Hour)
	check("its time is over", "t2", false)
	if _, err := db.PruneTraces(ctx, time.Hour, 1); err != nil {
		t.Fatal(err)
	}
	now = now.Add(-time.Hour)
	check("pruned", "t2", false)
	tape = make([]byte, store.MaxWire+1000)
	_, _ = rand.Read(tape)
	if err := put("large", "d", now); err == nil {
		t.Error("one that is too large was stored")
	}
}
