package store_test

import (
	"database/sql"
	"path/filepath"
	"testing"

	"molar/internal/store"
)

// TestEmpty: a store that was emptied holds nothing in any table, and takes the same turn
// again as if it were new.
func TestEmpty(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "molar.db")
	db := open(t, path)
	for range 2 {
		saveTurn(t, db, "chat", "0d7e3f5a-7c1f-4d0e-9a51-0a6f3f6d2b11", "Hello")
		messages, _, err := db.Messages(t.Context(), "", "chat", store.MessageRange{})
		if err != nil || len(messages) != 2 || messages[0].Seq != 1 {
			t.Fatalf("%+v, %v", messages, err)
		}
		if err := db.Empty(t.Context()); err != nil {
			t.Fatal(err)
		}
		left(t, path)
	}
}

// left fails for each table that holds anything.
func left(t *testing.T, path string) {
	t.Helper()
	raw, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = raw.Close() }()
	rows, err := raw.QueryContext(t.Context(), `SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'molar_schema'`)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	tables := 0
	for rows.Next() {
		var name string
		var n int
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		tables++
		if err := raw.QueryRowContext(t.Context(), `SELECT count(*) FROM "`+name+`"`).Scan(&n); err != nil || n > 0 && name != "sqlite_stat1" {
			t.Errorf("%s holds %d rows (%v)", name, n, err)
		}
	}
	if err := rows.Err(); err != nil || tables < 5 {
		t.Errorf("%d tables, %v", tables, err)
	}
}
