package store_test

import (
	"path/filepath"
	"testing"
	"time"

	"molar/internal/store"
	"molar/internal/store/storetest"
)

// TestState_Postgres runs on PostgreSQL what the other tests run on SQLite.
func TestState_Postgres(t *testing.T) {
	pg := storetest.StartPostgres(t)
	for name, test := range map[string]func(*testing.T, func(now func() time.Time) *store.DB){
		"traces": testTraces, "retries": testRetries, "logins": testLogins, "erasures": testErasures, "keys": testKeys, "people": testPeople, "sessions": testSessions, "own sessions": testOwnSessions, "feedback": testFeedback, "secrets": testSecret, "wires": testWires, "grants": testGrants, "refusals": testRefusals, "kept results": testKeptResults, "answers": testAnswers, "listed turns": testListTurns, "person logins": testPersonLogins, "rotation": testRotation, "retention of an assistant": testDeleteOlderOf, "vectors": testVectors, "counts": testCount, "hand-overs": testHandovers,
	} {
		t.Run(name, func(t *testing.T) {
			test(t, func(now func() time.Time) *store.DB {
				return openConfig(t, store.Config{Path: pg.Database(t), Now: now})
			})
		})
	}
}

// openState opens a file.
func openState(t testing.TB, path string) *store.DB {
	t.Helper()
	return openConfig(t, store.Config{Path: path})
}

// stateOpenAt opens a new file with a clock.
func stateOpenAt(tb testing.TB, now func() time.Time) *store.DB {
	tb.Helper()
	return openConfig(tb, store.Config{Path: filepath.Join(tb.TempDir(), "m.db"), Now: now})
}

func openConfig(tb testing.TB, cfg store.Config) *store.DB {
	tb.Helper()
	db, err := store.Open(tb.Context(), cfg)
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

func stateSaveTurn(t testing.TB, db *store.DB, id, turnID, text string) {
	t.Helper()
	start, err := db.BeginTurn(t.Context(), store.TurnRequest{ConversationID: id, TTL: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.SaveTurn(t.Context(), store.Turn{Lease: start.Lease, TurnID: turnID, User: text, Answer: text})
	if err != nil {
		t.Fatal(err)
	}
}
