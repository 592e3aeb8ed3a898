package store_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"molar/internal/store"
	"molar/internal/store/database"
	"molar/internal/store/storetest"
	"molar/schemas"
)

func TestCount(t *testing.T) { testCount(t, openFiles(t)) }

// openFiles opens a new file for each call.
func openFiles(t *testing.T) func(now func() time.Time) *store.DB {
	return func(now func() time.Time) *store.DB { return stateOpenAt(t, now) }
}

// The time of a limit begins with the first action, nothing is counted for what is refused, and the limit that
// refuses longest is told.
func testCount(t *testing.T, open func(now func() time.Time) *store.DB) {
	f := &fixture{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	db := open(f.clock)
	visitor, all := schemas.CountedLimit{Name: "visitor:a", Rate: schemas.Rate{Count: 2, Per: time.Hour}}, schemas.CountedLimit{Name: "all", Rate: schemas.Rate{Count: 3, Per: 24 * time.Hour}}
	other := schemas.CountedLimit{Name: "visitor:b", Rate: visitor.Rate}
	began := f.clock()
	for i, step := range []struct {
		after  time.Duration
		limits []schemas.CountedLimit
		want   *schemas.LimitRefusal
	}{
		{0, []schemas.CountedLimit{visitor, all}, nil},
		{time.Minute, []schemas.CountedLimit{visitor, all}, nil},
		{time.Minute, []schemas.CountedLimit{visitor, all}, &schemas.LimitRefusal{Limit: visitor, Until: began.Add(time.Hour)}},
		{0, []schemas.CountedLimit{other, all}, nil}, // the refused one did not count for all
		{0, []schemas.CountedLimit{visitor, all}, &schemas.LimitRefusal{Limit: all, Until: began.Add(24 * time.Hour)}},
		{0, []schemas.CountedLimit{other, all}, &schemas.LimitRefusal{Limit: all, Until: began.Add(24 * time.Hour)}},
		{0, []schemas.CountedLimit{other}, nil}, // and not for them either
		{58*time.Minute - time.Millisecond, []schemas.CountedLimit{visitor}, &schemas.LimitRefusal{Limit: visitor, Until: began.Add(time.Hour)}},
		{time.Millisecond, []schemas.CountedLimit{visitor}, nil},
		{0, []schemas.CountedLimit{{Name: "none"}}, nil},
		{0, nil, nil},
	} {
		f.pass(step.after)
		got, err := db.Count(t.Context(), step.limits)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(fmt.Sprint("step ", i), func(t *testing.T) { same(t, got, step.want) })
	}
	if n, err := db.DropCounts(t.Context(), f.clock()); err != nil || n != 0 {
		t.Errorf("%d dropped, %v", n, err)
	}
	f.pass(2 * time.Hour)
	if n, err := db.DropCounts(t.Context(), f.clock()); err != nil || n != 2 {
		t.Errorf("%d dropped, %v", n, err)
	}
	f.pass(-1000 * time.Hour) // the clock was wrong
	if got, err := db.Count(t.Context(), []schemas.CountedLimit{all}); err != nil || got != nil {
		t.Errorf("%v, %v", got, err)
	}
}

// Of many processes at once as many actions pass as a limit allows, not one more or less.
func TestCount_AtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.db")
	testCountAtOnce(t, openState(t, path), openState(t, path))
}

func TestCount_AtOncePostgres(t *testing.T) {
	path := storetest.StartPostgres(t).Database(t)
	testCountAtOnce(t, openState(t, path), openState(t, path))
}

func testCountAtOnce(t *testing.T, replicas ...*store.DB) {
	const visitors, each = 6, 12
	var mu sync.Mutex
	passed := map[string]int{}
	var wg sync.WaitGroup
	for i := range visitors * each {
		wg.Go(func() {
			name := fmt.Sprint("visitor:", i%visitors)
			refusal, err := replicas[i%len(replicas)].Count(t.Context(), []schemas.CountedLimit{
				{Name: name, Rate: schemas.Rate{Count: 5, Per: time.Hour}}, {Name: "all", Rate: schemas.Rate{Count: 28, Per: time.Hour}},
			})
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error(err)
			} else if refusal == nil {
				passed[name]++
				passed["all"]++
			}
		})
	}
	wg.Wait()
	for name, n := range passed {
		if name != "all" && n > 5 {
			t.Errorf("%d of %s passed", n, name)
		}
	}
	if passed["all"] != 28 {
		t.Errorf("%d passed, want 28", passed["all"])
	}
}

// Whoever is refused waits for nobody who is counted, and keeps nobody waiting.
func TestCount_RefusesWithoutWriting(t *testing.T) {
	for name, path := range map[string]func(t *testing.T) string{
		"SQLite":     func(t *testing.T) string { return filepath.Join(t.TempDir(), "m.db") },
		"PostgreSQL": func(t *testing.T) string { return storetest.StartPostgres(t).Database(t) },
	} {
		t.Run(name, func(t *testing.T) {
			file := path(t)
			db := openState(t, file)
			all := []schemas.CountedLimit{{Name: "all", Rate: schemas.Rate{Count: 1, Per: time.Hour}}}
			if refusal, err := db.Count(t.Context(), all); refusal != nil || err != nil {
				t.Fatal(refusal, err)
			}
			base, err := database.Open(t.Context(), store.Config{Path: file})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = base.Close() })
			err = base.Write(t.Context(), "hold the row", func(tx *sql.Tx) error {
				if _, err := tx.ExecContext(t.Context(), `UPDATE visit_counts SET count = count`); err != nil {
					return err
				}
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				defer cancel()
				refusal, err := db.Count(ctx, all)
				if refusal == nil || err != nil {
					t.Errorf("refusal %v, %v", refusal, err)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestHandovers(t *testing.T) { testHandovers(t, openFiles(t)) }

func testHandovers(t *testing.T, open func(now func() time.Time) *store.DB) {
	f := &fixture{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	db, ctx := open(f.clock), t.Context()
	handover := func(id, owner string) schemas.Handover {
		return schemas.Handover{
			ID: id, Owner: owner, ConversationID: "visit_" + owner, Assistant: "front", Language: "vi", Reason: schemas.HandoverWords,
			Contact: map[string]string{"name": "Lan", "phone": "090"}, State: schemas.HandoverSending, Callback: id == "h1",
			CreatedAt: f.clock(), ChangedAt: f.clock(),
		}
	}
	event := func(id, hook string) schemas.WebhookEvent {
		return schemas.WebhookEvent{ID: id, Hook: hook, Owner: "a", Body: []byte(`{}`), Created: f.clock(), Next: f.clock()}
	}
	first := handover("h1", "a")
	if err := db.PutHandover(ctx, first, event("msg_h1", "handover")); err != nil {
		t.Fatal(err)
	}
	refused(t, db.PutHandover(ctx, handover("h2", "a"), event("msg_h2", "handover")), store.ErrConflict)
	refused(t, db.PutHandover(ctx, schemas.Handover{ID: "h2"}), store.ErrInvalid)
	if err := db.PutEvent(ctx, event("msg_approval", "approvals")); err != nil {
		t.Fatal(err)
	}
	for hook, want := range map[string]string{"handover": "msg_h1", "approvals": "msg_approval"} {
		due, err := db.DueEvents(ctx, hook, f.clock(), 9)
		if err != nil || len(due) != 1 || due[0].ID != want || due[0].Hook != hook {
			t.Errorf("due for %s: %v, %v", hook, due, err)
		}
	}
	for name, find := range map[string]func() (schemas.Handover, bool, error){
		"open":  func() (schemas.Handover, bool, error) { return db.OpenHandover(ctx, "a", "visit_a") },
		"by id": func() (schemas.Handover, bool, error) { return db.HandoverByID(ctx, "h1") },
		"last":  func() (schemas.Handover, bool, error) { return db.LastHandover(ctx, "visit_a") },
	} {
		got, ok, err := find()
		if err != nil || !ok {
			t.Fatal(name, ok, err)
		}
		same(t, got, first)
	}
	if _, ok, err := db.OpenHandover(ctx, "b", "visit_a"); ok || err != nil {
		t.Errorf("another owner's: %v, %v", ok, err)
	}
	f.pass(time.Minute)
	sending := []schemas.HandoverState{schemas.HandoverSending}
	move := func(id string, from []schemas.HandoverState, to schemas.HandoverState, want bool) {
		t.Helper()
		if ok, err := db.MoveHandover(ctx, id, from, to, f.clock()); ok != want || err != nil {
			t.Errorf("%s to %s: %v, %v", id, to, ok, err)
		}
	}
	move("h1", sending, schemas.HandoverDelivered, true)
	move("h1", sending, schemas.HandoverFailed, false)
	move("nobody", nil, schemas.HandoverFailed, false)
	first.State, first.ChangedAt = schemas.HandoverDelivered, f.clock()
	if got, _, err := db.HandoverByID(ctx, "h1"); err != nil {
		t.Fatal(err)
	} else {
		same(t, got, first)
	}
	if stale, err := db.StaleHandovers(ctx, f.clock()); err != nil || len(stale) != 0 {
		t.Errorf("stale: %v, %v", stale, err)
	}
	if stale, err := db.StaleHandovers(ctx, f.clock().Add(time.Millisecond)); err != nil || len(stale) != 1 {
		t.Errorf("stale: %v, %v", stale, err)
	}
	move("h1", nil, schemas.HandoverClosed, true)
	if _, ok, err := db.OpenHandover(ctx, "a", "visit_a"); ok || err != nil {
		t.Errorf("a closed one is open: %v, %v", ok, err)
	}
	if stale, err := db.StaleHandovers(ctx, f.clock().Add(time.Hour)); err != nil || len(stale) != 0 {
		t.Errorf("a closed one is stale: %v, %v", stale, err)
	}
	for _, h := range []schemas.Handover{handover("h2", "a"), handover("h3", "b"), handover("h4", "c")} {
		if err := db.PutHandover(ctx, h); err != nil {
			t.Fatal(err)
		}
	}
	ids := func(states []schemas.HandoverState, limit int, after string) (ids []string) {
		t.Helper()
		page, err := db.Handovers(ctx, states, limit, after)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range page {
			ids = append(ids, h.ID)
		}
		return ids
	}
	same(t, ids(nil, 9, ""), []string{"h4", "h3", "h2", "h1"})
	same(t, ids(sending, 2, ""), []string{"h4", "h3"})
	same(t, ids(sending, 2, "h3"), []string{"h2"})
	same(t, ids([]schemas.HandoverState{schemas.HandoverClosed, schemas.HandoverFailed}, 2, ""), []string{"h1"})
	same(t, len(ids([]schemas.HandoverState{}, 9, "")), 0)

	// It goes with its conversation, and one that was requested before that is not stored.
	late := handover("late", "b")
	if err := db.ForgetConversation(ctx, "b", "visit_b"); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := db.HandoverByID(ctx, "h3"); ok || err != nil {
		t.Errorf("it outlived its conversation: %v, %v", ok, err)
	}
	refused(t, db.PutHandover(ctx, late), store.ErrConflict)
	f.pass(time.Second)
	if err := db.PutHandover(ctx, handover("new", "b")); err != nil {
		t.Error(err)
	}
}

func TestDeleteVisitors(t *testing.T) {
	testDeleteVisitors(t, filepath.Join(t.TempDir(), "m.db"))
}

func TestDeleteVisitors_Postgres(t *testing.T) {
	testDeleteVisitors(t, storetest.StartPostgres(t).Database(t))
}

// Of a visitor whose conversation did not change for long no table holds anything. Everybody else keeps everything:
// who wrote since, who waits for the desk, whose turn runs, and people.
func testDeleteVisitors(t *testing.T, path string) {
	f := &fixture{now: time.Now()}
	ctx, db := t.Context(), openConfig(t, store.Config{Path: path, Now: f.clock})
	base, err := database.Open(ctx, store.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer base.Close()
	visitors := map[string]string{}
	for _, name := range []string{"old", "waiting", "left", "running", "back", "refused", "begun"} {
		visitors[name] = schemas.VisitorOwner(name)
		fillPerson(t, db, visitors[name]+"#"+name)
		visitors[name] += "#" + name
	}
	fillPerson(t, db, "oidc:person#ann")
	for name, state := range map[string]schemas.HandoverState{"old": schemas.HandoverClosed, "running": schemas.HandoverFailed, "back": schemas.HandoverClosed, "refused": schemas.HandoverClosed, "begun": schemas.HandoverClosed} {
		if ok, err := db.MoveHandover(ctx, "handover of "+name, nil, state, f.clock()); !ok || err != nil {
			t.Fatal(ok, err)
		}
	}
	f.pass(25 * time.Hour)
	begun, err := db.BeginTurn(ctx, store.TurnRequest{Owner: visitors["back"], ConversationID: "c", TTL: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.SaveTurn(ctx, store.Turn{Lease: begun.Lease, TurnID: begun.Lease.Token, User: "I am back", Answer: "back again"}); err != nil {
		t.Fatal(err)
	}
	running, err := db.BeginTurn(ctx, store.TurnRequest{Owner: visitors["running"], ConversationID: "c", TTL: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{ // turns that the conversation does not have: one was refused, one has just begun
		db.PutTraces(ctx, []store.Trace{{TurnID: "t of refused", Owner: visitors["refused"], ConversationID: "c", Started: f.clock(), Body: []byte(`{}`)}}),
		db.Journal("r").Begin(ctx, schemas.JournalTurn{ID: "t of begun", Owner: visitors["begun"], ConversationID: "c", State: []byte(`{}`), Since: f.clock()}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if n, err := db.DeleteOlder(ctx, f.clock()); err != nil || n == 0 { // only what is ann's
		t.Errorf("%d conversations of people, %v", n, err)
	}
	before := map[string][]string{}
	for _, name := range []string{"waiting", "left", "running", "back", "refused", "begun", "ann"} {
		before[name] = storetest.Holding(t, base.Read, name)
		if len(before[name]) < 2 {
			t.Errorf("%s is in %v only", name, before[name])
		}
	}
	if n, err := db.DeleteVisitors(ctx, f.clock().Add(-26*time.Hour)); err != nil || n != 0 {
		t.Errorf("%d deleted, %v", n, err)
	}
	if n, err := db.DeleteVisitors(ctx, f.clock().Add(-24*time.Hour)); err != nil || n != 1 {
		t.Errorf("%d deleted, %v", n, err)
	}
	if left := storetest.Holding(t, base.Read, visitors["old"]); len(left) > 0 {
		t.Errorf("the old visitor is still in %v", left)
	}
	if left := slices.DeleteFunc(storetest.Holding(t, base.Read, "old"), func(table string) bool { return table == "audit" }); len(left) > 0 {
		t.Errorf("a word of the old visitor is still in %v", left)
	}
	for name, want := range before {
		if got := storetest.Holding(t, base.Read, name); !slices.Equal(got, want) {
			t.Errorf("%s was in %v, and is in %v", name, want, got)
		}
	}
	if _, err := db.SaveTurn(ctx, store.Turn{Lease: running.Lease, TurnID: "t of running", User: "q", Answer: "a"}); err != nil {
		t.Error(err)
	}
	owners, err := db.ListOwners(ctx)
	if err != nil || len(owners) == 0 || slices.ContainsFunc(owners, func(o schemas.Owner) bool { return schemas.IsVisitor(o.ID) }) {
		t.Errorf("people: %v, %v", owners, err)
	}
	if _, err := db.MoveHandover(ctx, "handover of waiting", nil, schemas.HandoverClosed, f.clock()); err != nil {
		t.Fatal(err)
	}
	f.pass(25 * time.Hour)
	if n, err := db.DeleteVisitors(ctx, f.clock().Add(-24*time.Hour)); err != nil || n != 5 {
		t.Errorf("%d deleted, %v", n, err)
	}
	if err := db.PutHandover(ctx, schemas.Handover{ID: "h", Owner: visitors["waiting"], ConversationID: "c", State: schemas.HandoverSending, CreatedAt: f.clock().Add(-time.Minute)}); !errors.Is(err, store.ErrConflict) {
		t.Errorf("a hand-over from before the erasure: %v", err)
	}
	f.pass(7 * 24 * time.Hour) // nobody closes the one that is left: the host has no desk any more
	if n, err := db.DeleteVisitors(ctx, f.clock().Add(-24*time.Hour)); err != nil || n != 1 {
		t.Errorf("%d deleted, %v", n, err)
	}
}
