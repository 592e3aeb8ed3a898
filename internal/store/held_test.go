package store_test

import (
	"path/filepath"
	"testing"
	"time"

	"molar/internal/store"
	"molar/schemas"
)

func TestHeldTurns(t *testing.T) {
	testHeldTurns(t, openState(t, filepath.Join(t.TempDir(), "molar.db")))
}

// Calls that are held for approvers are found for all owners until they expire, and are decided once.
func testHeldTurns(t *testing.T, db *store.DB) {
	ctx := t.Context()
	for _, k := range []struct {
		owner, id string
		lasts     time.Duration
	}{{"a", "approval_held_1", 2 * time.Hour}, {"b", "approval_held_2", time.Hour}, {"b", "approval_held_3", -time.Hour}, {"b", "consent_1", time.Hour}} {
		if err := db.KeepTurn(ctx, schemas.PauseRecord{Owner: k.owner, CallIDs: []string{k.id}, State: []byte(`{"n":"é<"}`), Expires: time.Now().Add(k.lasts)}); err != nil {
			t.Fatal(err)
		}
	}
	all, err := db.HeldTurns(ctx, "approval_held_")
	if err != nil || len(all) != 2 || all[0].CallIDs[0] != "approval_held_2" || all[1].Owner != "a" {
		t.Fatalf("%+v, %v", all, err)
	}
	for _, tt := range []struct {
		owner, before string
		want          bool
	}{{"b", `{"n":"é<"}`, false}, {"a", `{"n":2}`, false}, {"a", `{"n":"é<"}`, true}, {"a", `{"n":"é<"}`, false}} {
		ok, err := db.ReplaceKeptTurn(ctx, tt.owner, "approval_held_1", []byte(tt.before), []byte(`{"n":3}`))
		if err != nil || ok != tt.want {
			t.Errorf("%s replaces %s: %v, %v", tt.owner, tt.before, ok, err)
		}
	}
	if state, _, err := db.GetKeptTurn(ctx, "a", "approval_held_1"); err != nil || string(state) != `{"n":3}` {
		t.Errorf("%s, %v", state, err)
	}
}

// Approvers see the calls of all owners that name approvers, as long as their replica is alive.
func testForApprovers(t *testing.T, db *store.DB) {
	ctx := t.Context()
	for _, id := range []string{"t1", "t2"} {
		if err := db.Journal("a").Begin(ctx, schemas.JournalTurn{ID: id, Owner: "bob", Shared: true}); err != nil {
			t.Fatal(err)
		}
	}
	a, b := db.Live("a"), db.Live("b")
	for id, body := range map[string]string{"approval_1": `{"approvers":["it-admins"]}`, "approval_2": `{"tool":"x"}`} {
		if err := a.Ask(ctx, schemas.LiveAsk{ID: id, TurnID: "t1", Owner: "bob", Body: body}); err != nil {
			t.Fatal(err)
		}
	}
	all, err := b.ForApprovers(ctx)
	if err != nil || len(all) != 1 || all[0].ID != "approval_1" || all[0].Owner != "bob" {
		t.Fatalf("%+v, %v", all, err)
	}
	if first, err := b.Decide(ctx, "approval_1", `{}`); !first || err != nil {
		t.Fatal(first, err)
	}
	if all, err := b.ForApprovers(ctx); err != nil || len(all) != 0 {
		t.Errorf("after a decision: %+v, %v", all, err)
	}
}
