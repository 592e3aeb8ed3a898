package store_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"molar/internal/store"
	"molar/internal/store/database"
	"molar/schemas"
)

func begin(tb testing.TB, db *store.DB, id string) schemas.Opening {
	tb.Helper()
	start, err := db.BeginTurn(tb.Context(), store.TurnRequest{ConversationID: id, TTL: time.Minute})
	if err != nil {
		tb.Fatal(err)
	}
	return start
}

// Turns that wait for the same commit share it; each still gets its own verdict.
func TestSaveTurn_SharesACommit(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "m.db"))
	const turns = 20
	leases := make([]schemas.Opening, turns)
	for i := range leases {
		leases[i] = begin(t, db, fmt.Sprint("c", i))
	}
	if err := db.EndTurn(t.Context(), leases[7].Lease); err != nil { // that one may not be saved any more
		t.Fatal(err)
	}
	before := db.Commits(t)
	release := db.HoldWrites(t)
	errs := make([]error, turns)
	var wg sync.WaitGroup
	for i := range turns {
		wg.Go(func() {
			_, errs[i] = db.SaveTurn(t.Context(), store.Turn{Lease: leases[i].Lease, TurnID: fmt.Sprint("t", i), User: "q", Answer: "a"})
		})
	}
	db.AwaitWaiting(turns)
	release()
	wg.Wait()
	if n := db.Commits(t) - before; n != 1 {
		t.Errorf("%d commits for %d turns, want 1", n, turns)
	}
	for i, err := range errs {
		if stale := errors.Is(err, store.ErrStaleLease); stale != (i == 7) || (err != nil && !stale) {
			t.Errorf("turn %d: %v", i, err)
		}
	}
	page, err := db.List(t.Context(), store.ListRequest{Limit: 100})
	if err != nil || len(page.Conversations) != turns-1 {
		t.Errorf("%d conversations, %v", len(page.Conversations), err)
	}
}

// A turn that cannot be saved costs no other one.
func TestSaveTurn_FaultIsItsOwn(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "m.db"))
	texts := []string{"small", strings.Repeat("x", 2<<20), "small too"}
	leases := make([]schemas.Opening, len(texts))
	for i := range leases {
		leases[i] = begin(t, db, fmt.Sprint("c", i))
	}
	db.LimitPages(t, 200)
	release := db.HoldWrites(t)
	errs := make([]error, len(texts))
	var wg sync.WaitGroup
	for i := range texts {
		wg.Go(func() {
			_, errs[i] = db.SaveTurn(t.Context(), store.Turn{Lease: leases[i].Lease, TurnID: fmt.Sprint("t", i), User: "q", Answer: texts[i]})
		})
	}
	db.AwaitWaiting(len(texts))
	release()
	wg.Wait()
	if errs[0] != nil || errs[2] != nil {
		t.Errorf("small turns: %v, %v", errs[0], errs[2])
	}
	if fault, ok := errors.AsType[*database.Error](errs[1]); !ok || fault.Kind != database.KindFull {
		t.Errorf("large turn: %v", errs[1])
	}
}

func TestSaveTurn_CancelledWhileItWaits(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "m.db"))
	start := begin(t, db, "c")
	release := db.HoldWrites(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := db.SaveTurn(ctx, store.Turn{Lease: start.Lease, TurnID: "t", User: "q", Answer: "a"})
		done <- err
	}()
	db.AwaitWaiting(1)
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	release()
	if err := db.EndTurn(t.Context(), start.Lease); err != nil {
		t.Fatal(err)
	}
	saveTurn(t, db, "c", "t2", "x")
	if _, total, err := db.Messages(t.Context(), "", "c", store.MessageRange{}); total != 2 || err != nil {
		t.Errorf("%d messages, %v: the cancelled turn was saved", total, err)
	}
}

// A file that stays locked is one wait for all, and a clear error for each.
func TestSaveTurn_Locked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.db")
	const wait, turns = 200 * time.Millisecond, 20
	db, err := store.Open(t.Context(), store.Config{Path: path, BusyTimeout: wait})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	leases := make([]schemas.Opening, turns)
	for i := range leases {
		leases[i] = begin(t, db, fmt.Sprint("c", i))
	}
	unlock := open(t, path).HoldFile(t)
	defer unlock()
	release := db.HoldWrites(t)
	var wg sync.WaitGroup
	for i, start := range leases {
		wg.Go(func() {
			_, err := db.SaveTurn(t.Context(), store.Turn{Lease: start.Lease, TurnID: fmt.Sprint("t", i), User: "q", Answer: "a"})
			fault, ok := errors.AsType[*database.Error](err)
			if !ok || fault.Kind != database.KindLocked || !strings.Contains(err.Error(), "locked by another process") {
				t.Errorf("error %v", err)
			}
		})
	}
	db.AwaitWaiting(turns)
	from := time.Now()
	release()
	wg.Wait()
	if took := time.Since(from); took > turns/2*wait {
		t.Errorf("it took %v", took)
	}
}

// While another process has the file locked, nothing of a turn is lost and nothing doubled: each
// step says so, and is done when it is asked for again.
func TestTurn_Locked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.db")
	db, err := store.Open(t.Context(), store.Config{Path: path, BusyTimeout: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	other := open(t, path)
	var lease schemas.Lease
	for _, step := range []func() error{
		func() error {
			start, err := db.BeginTurn(t.Context(), store.TurnRequest{ConversationID: "c", TTL: time.Minute})
			lease = start.Lease
			return err
		},
		func() error { return db.Journal("a").Begin(t.Context(), schemas.JournalTurn{ID: "t"}) },
		func() error {
			news := schemas.JournalNews{TurnID: "t", Rows: []schemas.JournalRow{{First: 1, Last: 1, Body: "[]"}}}
			_, err := db.Journal("a").Write(t.Context(), false, []schemas.JournalNews{news})
			return err
		},
		func() error {
			_, err := db.RenewLease(t.Context(), lease, time.Minute)
			return err
		},
		func() error {
			_, err := db.SaveTurn(t.Context(), store.Turn{Lease: lease, TurnID: "t", User: "q", Answer: "a"})
			return err
		},
	} {
		unlock := other.HoldFile(t)
		err := step()
		if fault, ok := errors.AsType[*database.Error](err); !ok || fault.Kind != database.KindLocked {
			t.Errorf("while it is locked: %v", err)
		}
		unlock()
		if err := step(); err != nil {
			t.Error(err)
		}
	}
	messages, total, err := db.Messages(t.Context(), "", "c", store.MessageRange{})
	if err != nil || total != 2 || messages[0].Content != "q" || messages[1].Content != "a" || messages[1].Status != "" {
		t.Errorf("%d messages, %+v, %v", total, messages, err)
	}
}
