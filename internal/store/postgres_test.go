package store_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"molar/internal/store"
	"molar/internal/store/database"
	"molar/internal/store/storetest"
	"molar/mcpservers/memory"
	"molar/schemas"
)

func TestPostgres(t *testing.T) {
	pg := storetest.StartPostgres(t)
	t.Run("contract", func(t *testing.T) {
		// One store, emptied and with another clock for each test: opening one is dear.
		clock := time.Now
		dsn := pg.Database(t)
		db := openPostgres(t, dsn, func() time.Time { return clock() })
		testContract(t, func(t *testing.T, now func() time.Time) memory.Store {
			clock = now
			pg.Empty(t, dsn)
			return db
		})
	})
	t.Run("old conversations are deleted", func(t *testing.T) {
		testDeleteOlder(t, func(now func() time.Time) *store.DB { return openPostgres(t, pg.Database(t), now) })
	})
	t.Run("export", func(t *testing.T) {
		testExport(t, func(now func() time.Time) *store.DB { return openPostgres(t, pg.Database(t), now) })
	})
	t.Run("calls held for approvers", func(t *testing.T) {
		db := openPostgres(t, pg.Database(t), nil)
		testHeldTurns(t, db)
		testForApprovers(t, db)
		testEvents(t, openPostgres(t, pg.Database(t), nil))
	})
	t.Run("a database of before is migrated", func(t *testing.T) {
		dsn := pg.Database(t)
		execPostgres(t, dsn, dump(t, "postgres"))
		testMigrated(t, openPostgres(t, dsn, nil))
	})
	t.Run("leases go by its clock", func(t *testing.T) { testPostgresClock(t, pg.Database(t)) })
	t.Run("refuses", func(t *testing.T) { testPostgresRefuses(t, pg) })
	t.Run("many open it at once", func(t *testing.T) {
		dsn := pg.Database(t)
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				db, err := store.Open(t.Context(), store.Config{Path: dsn})
				if err != nil {
					t.Error(err)
					return
				}
				if err := db.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	})
	t.Run("what it cannot hold", func(t *testing.T) {
		db := openPostgres(t, pg.Database(t), time.Now)
		saveTurn(t, db, "c", "t", "a\x00b\xff")
		messages, _, err := db.Messages(t.Context(), "", "c", store.MessageRange{})
		if err != nil || len(messages) != 2 || messages[0].Content != "a\uFFFDb\uFFFD" {
			t.Errorf("%v, %v", messages, err)
		}
		if err := db.Ensure(t.Context(), "", "c\x00"); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("an id with NUL: %v", err)
		}
	})
	t.Run("a search reads no messages of others", func(t *testing.T) {
		dsn := pg.Database(t)
		db := openPostgres(t, dsn, nil)
		// One owner has nearly all, so that reading everything seems cheap to the planner.
		execPostgres(t, dsn, `INSERT INTO conversations (owner, id, created_at, updated_at)
				SELECT CASE WHEN n % 20 = 0 THEN 'bob' ELSE 'ann' END, 'c' || n, n, n FROM generate_series(1, 2000) AS n;
			INSERT INTO messages (conversation, seq, role, content, timestamp)
				SELECT num, seq, 'user', repeat('text ', 100), 0 FROM conversations, generate_series(1, 10) AS seq;
			ANALYZE`)
		plan := db.Plan(t, store.ListRequest{Owner: "ann", Query: "text", Limit: 50})
		if strings.Contains(plan, "Seq Scan on messages") {
			t.Error(plan)
		}
	})
	t.Run("turns are ended beside a lock", func(t *testing.T) { testReapsBesideLocks(t, pg.Database(t)) })
	t.Run("a replica stops anywhere", func(t *testing.T) { testStopsAnywhere(t, pg, pg.Database(t)) })
	t.Run("a held row is a clear error", func(t *testing.T) { testPostgresLocked(t, pg.Database(t)) })
	t.Run("restarted under load", func(t *testing.T) {
		if testing.Short() {
			t.Skip("two restarts of a server take seconds")
		}
		if !pg.Private() {
			t.Skip("the server is not ours to restart")
		}
		testPostgresRestart(t, pg)
	})
}

func openPostgres(tb testing.TB, dsn string, now func() time.Time) *store.DB {
	tb.Helper()
	db, err := store.Open(tb.Context(), store.Config{Path: dsn, Now: now, BusyTimeout: time.Second})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := db.Close(); err != nil {
			tb.Error(err)
		}
	})
	return db
}

func execPostgres(t *testing.T, dsn, statement string) {
	t.Helper()
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.ExecContext(t.Context(), statement)
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

// Replicas may disagree about the time: the database's clock, here one that stands still,
// says when a lease ends.
func testPostgresClock(t *testing.T, dsn string) {
	const noon = 1772366400000
	set := func(ms int64) {
		t.Helper()
		execPostgres(t, dsn, fmt.Sprintf(`CREATE OR REPLACE FUNCTION clock_timestamp() RETURNS timestamptz
			LANGUAGE sql AS 'SELECT to_timestamp(%d)'`, ms/1000))
	}
	set(noon)
	db := openPostgres(t, dsn+"%2Cpg_catalog", nil)
	begin := func() (schemas.Opening, error) {
		return db.BeginTurn(t.Context(), store.TurnRequest{ConversationID: "c", TTL: 15 * time.Second})
	}
	start, err := begin()
	if err != nil || start.Lease.Expires.UnixMilli() != noon+15_000 {
		t.Fatalf("%+v, %v", start.Lease, err)
	}
	set(noon + 10_000)
	var busy *store.BusyError
	if _, err = begin(); !errors.As(err, &busy) || busy.Left != 5*time.Second {
		t.Errorf("after 10 s: %v", err)
	}
	set(noon + 15_000)
	if _, err = begin(); err != nil {
		t.Errorf("after 15 s: %v", err)
	}
}

func testPostgresRefuses(t *testing.T, pg *storetest.Postgres) {
	for name, c := range map[string]struct {
		dsn  func(t *testing.T) string
		kind database.Kind
		says string
	}{
		"a newer schema": {func(t *testing.T) string {
			dsn := pg.Database(t)
			openPostgres(t, dsn, time.Now)
			execPostgres(t, dsn, "UPDATE molar_schema SET version = 99, least = 98")
			return dsn
		}, database.KindNewer, "upgrade molar"},
		"another program's tables": {func(t *testing.T) string {
			dsn := pg.Database(t)
			execPostgres(t, dsn, "CREATE TABLE messages (text TEXT)")
			return dsn
		}, database.KindForeign, "search_path"},
		"a database that is not there": {func(t *testing.T) string {
			return strings.Replace(pg.Database(t), "/postgres?", "/nothing?", 1)
		}, database.KindRefused, "nothing"},
		"a server that is not there": {func(*testing.T) string {
			return "postgres://ann:secret@127.0.0.1:1/molar"
		}, database.KindUnreachable, "postgres://ann@127.0.0.1:1/molar"},
		"a URL that is none": {func(*testing.T) string {
			return "postgres://ann:secret@127.0.0.1:port/molar"
		}, database.KindOther, "postgres://user:password@host:port/name"},
	} {
		t.Run(name, func(t *testing.T) {
			db, err := store.Open(t.Context(), store.Config{Path: c.dsn(t)})
			if err == nil {
				t.Fatal("opened", db.Close())
			}
			fault, ok := errors.AsType[*database.Error](err)
			if !ok || fault.Kind != c.kind || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "secret") {
				t.Errorf("error %v of kind %v", err, fault)
			}
		})
	}
}

func testPostgresLocked(t *testing.T, dsn string) {
	db := openPostgres(t, dsn, time.Now)
	saveTurn(t, db, "c", "t", "x")
	other, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	tx, err := other.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.ExecContext(t.Context(), "LOCK TABLE conversations"); err != nil {
		t.Fatal(err)
	}
	err = db.Rename(t.Context(), "", "c", "title")
	if fault, ok := errors.AsType[*database.Error](err); !ok || fault.Kind != database.KindLocked {
		t.Errorf("error %v", err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := db.Rename(t.Context(), "", "c", "title"); err != nil {
		t.Error(err)
	}
}

// Writers that repeat a turn whose fate they do not know lose none and double none
// while the server crashes and comes back.
func testPostgresRestart(t *testing.T, pg *storetest.Postgres) {
	db := openPostgres(t, pg.Database(t), time.Now)
	const writers, each, restarts = 4, 60, 2
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	saved := make(chan struct{}, writers*each)
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				if err := persist(ctx, db, fmt.Sprint("c", w), fmt.Sprintf("t%d-%d", w, i)); err != nil {
					t.Error(err)
					return
				}
				saved <- struct{}{}
			}
		})
	}
	for range restarts {
		for range writers * each / (restarts + 1) {
			<-saved
		}
		pg.Stop(t)
		pg.Start(t)
	}
	wg.Wait()
	for w := range writers {
		messages, _, err := db.Messages(t.Context(), "", fmt.Sprint("c", w), store.MessageRange{})
		if err != nil || len(messages) != 2*each {
			t.Errorf("writer %d: %d messages, want %d, %v", w, len(messages), 2*each, err)
			continue
		}
		for i, m := range messages {
			if want := fmt.Sprintf("t%d-%d", w, i/2); m.TurnID != want {
				t.Errorf("message %d is of turn %s, want %s", i, m.TurnID, want)
			}
		}
	}
}

// persist saves a turn, asking again for as long as the server does not answer.
func persist(ctx context.Context, db *store.DB, id, turnID string) error {
	var lease *schemas.Opening
	for {
		err := func() error {
			if lease == nil {
				start, err := db.BeginTurn(ctx, store.TurnRequest{ConversationID: id, TTL: time.Second})
				if err != nil {
					return err
				}
				lease = &start
			}
			_, err := db.SaveTurn(ctx, store.Turn{Lease: lease.Lease, TurnID: turnID, User: "q", Answer: "a"})
			return err
		}()
		fault, _ := errors.AsType[*database.Error](err)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, store.ErrStaleLease):
			lease = nil // its commit was not awaited, and the crash took it
		case errors.Is(err, store.ErrBusy): // by the lease whose answer was lost
		case fault == nil || fault.Kind != database.KindUnreachable:
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond): // the server is starting
		}
	}
}
