package store_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"molar/internal/store"
	"molar/internal/store/database"
	"molar/schemas"
)

func TestErasures(t *testing.T) {
	testErasures(t, func(now func() time.Time) *store.DB { return stateOpenAt(t, now) })
}

// The trace of a turn that ran while its conversation was erased is not stored; those of
// other conversations and of later turns are.
func testErasures(t *testing.T, open func(now func() time.Time) *store.DB) {
	start := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for name, erase := range map[string]func(ctx context.Context, db *store.DB) error{
		"clear":  func(ctx context.Context, db *store.DB) error { return db.Clear(ctx, "ann", "c") },
		"delete": func(ctx context.Context, db *store.DB) error { return db.Delete(ctx, "", "c") },
		"forget": func(ctx context.Context, db *store.DB) error { return db.ForgetConversation(ctx, "ann", "c") },
		"forget for all": func(ctx context.Context, db *store.DB) error {
			return db.ForgetConversation(ctx, "", "c")
		},
		"retention": func(ctx context.Context, db *store.DB) error {
			_, err := db.DeleteOlder(ctx, start.Add(time.Minute))
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			now := start
			db := open(func() time.Time { return now })
			if err := db.Ensure(ctx, "ann", "c"); err != nil {
				t.Fatal(err)
			}
			now = start.Add(2 * time.Minute)
			if err := erase(ctx, db); err != nil {
				t.Fatal(err)
			}
			put := func(id, owner, conversation string, started time.Time) {
				trace := store.Trace{TurnID: id, Owner: owner, ConversationID: conversation, Started: started, Body: []byte(`{}`)}
				if err := db.PutTraces(ctx, []store.Trace{trace}); err != nil {
					t.Fatal(err)
				}
			}
			before, after := now.Add(-time.Second), now.Add(time.Second)
			put("ran", "ann", "c", before)
			put("later", "ann", "c", after)
			put("other", "ann", "d", before)
			if name != "forget for all" {
				put("bobs", "bob", "c", before)
			}
			now = now.Add(25 * time.Hour)
			if _, err := db.PruneTraces(ctx, 48*time.Hour, 1<<20); err != nil { // old erasures are forgotten
				t.Fatal(err)
			}
			put("old", "ann", "c", before)
			list, err := db.ListTraces(ctx, 10)
			if err != nil {
				t.Fatal(err)
			}
			var kept []string
			for _, trace := range list {
				kept = append(kept, trace.TurnID)
			}
			want := "old bobs later other"
			if name == "forget for all" {
				want = "old later other"
			}
			if got := strings.Join(kept, " "); got != want {
				t.Errorf("kept %q, want %q", got, want)
			}
		})
	}
}

// What waits for a client, or was kept for a repeated request, goes when its time is
// over, also where no other comes.
func TestPruneTraces_DropsWhatExpired(t *testing.T) {
	ctx := t.Context()
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	base, err := database.Open(ctx, database.Config{Path: filepath.Join(t.TempDir(), "m.db"), Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer base.Close()
	db := store.NewState(base)
	keep := schemas.PauseRecord{ConversationID: "c", CallIDs: []string{"call"}, State: []byte(`"kept secret"`), Expires: now.Add(time.Hour)}
	if err := db.KeepTurn(ctx, keep); err != nil {
		t.Fatal(err)
	}
	if _, _, err := db.ClaimKey(ctx, schemas.KeyRecord{Key: "k", Hash: "h", TurnID: "secret turn", ConversationID: "c"}); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		after       time.Duration
		kept, keyed bool
	}{{time.Minute, true, true}, {time.Hour, false, true}, {24 * time.Hour, false, false}} {
		now = now.Add(step.after)
		if _, err := db.PruneTraces(ctx, time.Hour, 1); err != nil {
			t.Fatal(err)
		}
		var kept, keyed int
		if err := base.Read.QueryRowContext(ctx, `SELECT (SELECT count(*) FROM kept_turns), (SELECT count(*) FROM idempotency)`).Scan(&kept, &keyed); err != nil {
			t.Fatal(err)
		}
		if kept > 0 != step.kept || keyed > 0 != step.keyed {
			t.Errorf("after %s: %d waiting, %d keys", step.after, kept, keyed)
		}
	}
}
