package store_test

import (
	"path/filepath"
	"testing"

	"molar/internal/store"
	"molar/internal/store/storetest"
	"molar/schemas"
)

func TestServerProtocols(t *testing.T) {
	testServerProtocols(t, filepath.Join(t.TempDir(), "molar.db"))
}

func TestServerProtocols_Postgres(t *testing.T) {
	pg := storetest.StartPostgres(t)
	testServerProtocols(t, pg.Database(t))
}

// What was learnt of a server is found by each process on the database, but only at its place, and
// is forgotten with the server.
func testServerProtocols(t *testing.T, path string) {
	ctx := t.Context()
	db, other := openConfig(t, store.Config{Path: path}), openConfig(t, store.Config{Path: path})
	check := func(place string, want schemas.ServerProtocol) {
		t.Helper()
		got, err := other.ServerProtocol(ctx, "maps", place)
		if err != nil || got != want {
			t.Errorf("at %s: %+v, %v; want %+v", place, got, err, want)
		}
	}
	keep := func(place string, p schemas.ServerProtocol) {
		t.Helper()
		if err := db.KeepServerProtocol(ctx, "maps", place, p); err != nil {
			t.Fatal(err)
		}
	}
	older := schemas.ServerProtocol{Revision: "2025-11-25", Version: "1.0"}
	check("here", schemas.ServerProtocol{})
	keep("here", older)
	check("here", older)
	check("there", schemas.ServerProtocol{})
	newer := schemas.ServerProtocol{Revision: "2026-07-28", Version: "2.0"}
	keep("there", newer)
	check("there", newer)
	check("here", schemas.ServerProtocol{})
	if err := db.AddServer(ctx, store.AddedServer{Name: "maps", URL: "https://maps.example"}); err != nil {
		t.Fatal(err)
	}
	if ok, err := db.RemoveServer(ctx, "maps"); !ok || err != nil {
		t.Fatal(ok, err)
	}
	check("there", schemas.ServerProtocol{})
}
