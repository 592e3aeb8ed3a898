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

func TestEvents(t *testing.T) {
	testEvents(t, openState(t, filepath.Join(t.TempDir(), "molar.db")))
}

// An event is due from its time on, is moved by whoever knows that time, and goes with its owner.
func testEvents(t *testing.T, db *store.DB) {
	ctx, at := t.Context(), time.Date(2026, 5, 4, 3, 2, 1, 5e6, time.UTC)
	for id, e := range map[string]schemas.WebhookEvent{"msg_1": {Owner: "bob", Next: at}, "msg_2": {Owner: "bob", Next: at.Add(time.Minute)}, "msg_3": {Owner: "ann", Next: at.Add(-time.Minute)}} {
		e.ID, e.Hook, e.Body, e.Created = id, "approvals", []byte(`{"what":"é<"}`), at
		if err := db.PutEvent(ctx, e); err != nil {
			t.Fatal(err)
		}
	}
	due := func(now time.Time, limit int) (ids string) {
		all, err := db.DueEvents(ctx, "approvals", now, limit)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range all {
			if string(e.Body) != `{"what":"é<"}` || !e.Created.Equal(at) {
				t.Errorf("%+v", e)
			}
			ids += " " + e.ID
		}
		return ids
	}
	if got := due(at, 9) + due(at, 1) + due(at.Add(-time.Hour), 9); got != " msg_3 msg_1 msg_3" {
		t.Errorf("due are%s", got)
	}
	for _, want := range []bool{true, false} {
		if ok, err := db.MoveEvent(ctx, "msg_1", at, at.Add(time.Hour)); ok != want || err != nil {
			t.Errorf("moved: %v, %v", ok, err)
		}
	}
	if err := db.DropEvent(ctx, "msg_3"); err != nil {
		t.Fatal(err)
	}
	if got := due(at.Add(time.Hour), 9); got != " msg_2 msg_1" {
		t.Errorf("due are%s", got)
	}
	if _, err := db.ErasePerson(ctx, "bob"); err != nil || due(at.Add(time.Hour), 9) != "" {
		t.Errorf("after an erasure%s are left, %v", due(at.Add(time.Hour), 9), err)
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
