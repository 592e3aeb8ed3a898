package store_test

import (
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"molar/internal/store"
	"molar/schemas"
)

func TestRetries(t *testing.T) {
	testRetries(t, func(now func() time.Time) *store.DB { return stateOpenAt(t, now) })
}

func testRetries(t *testing.T, open func(now func() time.Time) *store.DB) {
	ctx := t.Context()
	begin := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	now := begin
	db := open(func() time.Time { return now })
	stateSaveTurn(t, db, "c", "t", "a")
	k := schemas.KeyRecord{Owner: "", Key: "k", Hash: "h", TurnID: "t1", ConversationID: "c"}
	if _, claimed, err := db.ClaimKey(ctx, k); err != nil || !claimed {
		t.Fatalf("%v %v", claimed, err)
	}
	other := k
	other.Owner, other.ConversationID = "bob", "d"
	if _, claimed, err := db.ClaimKey(ctx, other); err != nil || !claimed {
		t.Errorf("another owner's: %v %v", claimed, err)
	}
	k.Outcome = json.RawMessage(`{"text":"a"}`)
	if err := db.SetKey(ctx, k); err != nil {
		t.Fatal(err)
	}
	now = now.Add(store.KeyAge)
	k.CreatedAt = begin
	found, claimed, err := db.ClaimKey(ctx, schemas.KeyRecord{Owner: "", Key: "k", Hash: "h2", TurnID: "t2"})
	if err != nil || claimed || !cmp.Equal(found, k) {
		t.Errorf("%v %v %s", claimed, err, cmp.Diff(k, found))
	}
	now = now.Add(time.Second)
	if _, claimed, err := db.ClaimKey(ctx, schemas.KeyRecord{Owner: "", Key: "k", Hash: "h2", TurnID: "t2", ConversationID: "c"}); err != nil || !claimed {
		t.Errorf("after a day: %v %v", claimed, err)
	}
	testTakenKey(t, db)
	if err := db.ReleaseKey(ctx, "", "k", "t3"); err != nil {
		t.Fatal(err)
	}
	testClaimedOnce(t, db)

	kept := schemas.PauseRecord{Owner: "ann", ConversationID: "c", CallIDs: []string{"x", "y"}, State: json.RawMessage(`{"n":1}`), Expires: now.Add(time.Hour)}
	if err := db.KeepTurn(ctx, kept); err != nil {
		t.Fatal(err)
	}
	for owner, want := range map[string]bool{"ann": true, "bob": false, "": false} {
		got, ok, err := db.GetKeptTurn(ctx, owner, "y")
		if err != nil || ok != want || ok && string(got) != `{"n":1}` {
			t.Errorf("%q: %s %v %v", owner, got, ok, err)
		}
	}
	now = now.Add(time.Hour)
	if _, ok, err := db.GetKeptTurn(ctx, "ann", "x"); err != nil || ok {
		t.Errorf("after its end: %v %v", ok, err)
	}
}

// testTakenKey gives the key of turn t2 to t3, after which t2 may neither note that it acts
// nor give the key up.
func testTakenKey(t *testing.T, db *store.DB) {
	t.Helper()
	ctx := t.Context()
	old, next := schemas.KeyRecord{Key: "k", TurnID: "t2", Acted: true}, schemas.KeyRecord{Key: "k", TurnID: "t3"}
	for before, want := range map[string]bool{"t1": false, "t2": true} {
		if taken, err := db.TakeKey(ctx, next, before); err != nil || taken != want {
			t.Errorf("taken from %s: %v %v", before, taken, err)
		}
	}
	if err := db.SetKey(ctx, old); !errors.Is(err, store.ErrKeyTaken) {
		t.Errorf("the turn before acts all the same: %v", err)
	}
	if err := db.ReleaseKey(ctx, "", "k", "t2"); err != nil {
		t.Fatal(err)
	}
	if found, claimed, err := db.ClaimKey(ctx, schemas.KeyRecord{Key: "k", TurnID: "t4"}); err != nil || claimed || found.TurnID != "t3" {
		t.Errorf("the key is %+v, claimed %v: %v", found, claimed, err)
	}
}

// testClaimedOnce lets many claim one key at once.
func testClaimedOnce(t *testing.T, db *store.DB) {
	t.Helper()
	won := make(chan bool, 8)
	var wg sync.WaitGroup
	for range cap(won) {
		wg.Go(func() {
			_, claimed, err := db.ClaimKey(t.Context(), schemas.KeyRecord{Owner: "", Key: "k", Hash: "h", TurnID: "t", ConversationID: "c"})
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
	db := stateOpenAt(t, time.Now)
	stateSaveTurn(t, db, "c", "t", "a")
	k := schemas.KeyRecord{Key: "k", Hash: "h", TurnID: "t", ConversationID: "c"}
	if _, _, err := db.ClaimKey(ctx, k); err != nil {
		t.Fatal(err)
	}
	if err := db.KeepTurn(ctx, schemas.PauseRecord{ConversationID: "c", CallIDs: []string{"x"}, State: json.RawMessage(`{}`), Expires: time.Now().Add(time.Hour)}); err != nil {
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
