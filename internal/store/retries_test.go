package store_test

import (
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"molar/internal/store"
)

func TestRetries(t *testing.T) {
	testRetries(t, func(now func() time.Time) *store.DB { return openAt(t, now) })
}

func testRetries(t *testing.T, open func(now func() time.Time) *store.DB) {
	ctx := t.Context()
	begin := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	now := begin
	db := open(func() time.Time { return now })
	saveTurn(t, db, "c", "t", "a")
	k := store.Key{Owner: "", Key: "k", Hash: "h", TurnID: "t1", ConversationID: "c"}
	if _, claimed, err := db.ClaimKey(ctx, k); err != nil || !claimed {
		t.Fatalf("%v %v", claimed, err)
	}
	other := k
	other.Owner, other.ConversationID = "bob", "d"
	if _, claimed, err := db.ClaimKey(ctx, other); err != nil || !claimed {
		t.Errorf("another owner's: %v %v", claimed, err)
	}
	k.State, k.Outcome = store.KeyEnded, json.RawMessage(`{"text":"a"}`)
	if err := db.SetKey(ctx, k); err != nil {
		t.Fatal(err)
	}
	now = now.Add(store.KeyAge)
	k.CreatedAt = begin
	found, claimed, err := db.ClaimKey(ctx, store.Key{Owner: "", Key: "k", Hash: "h2", TurnID: "t2"})
	if err != nil || claimed || !cmp.Equal(found, k) {
		t.Errorf("%v %v %s", claimed, err, cmp.Diff(k, found))
	}
	now = now.Add(time.Second)
	if _, claimed, err := db.ClaimKey(ctx, store.Key{Owner: "", Key: "k", Hash: "h2", TurnID: "t2", ConversationID: "c"}); err != nil || !claimed {
		t.Errorf("after a day: %v %v", claimed, err)
	}
	if err := db.ReleaseKey(ctx, "", "k"); err != nil {
		t.Fatal(err)
	}
	testClaimedOnce(t, db)

	kept := store.KeptTurn{Owner: "ann", ConversationID: "c", CallIDs: []string{"x", "y"}, State: json.RawMessage(`{"n":1}`), Expires: now.Add(time.Hour)}
	if err := db.KeepTurn(ctx, kept); err != nil {
		t.Fatal(err)
	}
	for owner, want := range map[string]bool{"ann": true, "bob": false, "": false} {
		state, ok, err := db.GetKeptTurn(ctx, owner, "y")
		if err != nil || ok != want || ok && string(state) != `{"n":1}` {
			t.Errorf("%q: %s %v %v", owner, state, ok, err)
		}
	}
	now = now.Add(time.Hour)
	if _, ok, err := db.GetKeptTurn(ctx, "ann", "x"); err != nil || ok {
		t.Errorf("after its end: %v %v", ok, err)
	}
}

// testClaimedOnce lets many claim one key at once.
func testClaimedOnce(t *testing.T, db *store.DB) {
	t.Helper()
	won := make(chan bool, 8)
	var wg sync.WaitGroup
	for range cap(won) {
		wg.Go(func() {
			_, claimed, err := db.ClaimKey(t.Context(), store.Key{Owner: "", Key: "k", Hash: "h", TurnID: "t", ConversationID: "c"})
			if err != nil {
				t.Error(err)
			}
			won <- claimed
		})
	}
	wg.Wait()
	close(won)
	n := 0
	for claimed := range won {
		if claimed {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d of %d claimed the key", n, cap(won))
	}
}

// A deleted conversation leaves no text of it in what was kept for retries.
func TestRetries_GoWithTheConversation(t *testing.T) {
	ctx := t.Context()
	db := openAt(t, time.Now)
	saveTurn(t, db, "c", "t", "a")
	k := store.Key{Key: "k", Hash: "h", TurnID: "t", ConversationID: "c"}
	if _, _, err := db.ClaimKey(ctx, k); err != nil {
		t.Fatal(err)
	}
	if err := db.KeepTurn(ctx, store.KeptTurn{ConversationID: "c", CallIDs: []string{"x"}, State: json.RawMessage(`{}`), Expires: time.Now().Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	if err := db.Delete(ctx, "", "c"); err != nil {
		t.Fatal(err)
	}
	if _, ok, _ := db.GetKeptTurn(ctx, "", "x"); ok {
		t.Error("the kept turn stayed")
	}
	if _, claimed, _ := db.ClaimKey(ctx, k); !claimed {
		t.Error("the key stayed")
	}
}
