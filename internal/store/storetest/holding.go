package storetest

import (
	"bytes"
	"context"
	"database/sql"
	"slices"
	"strings"
	"testing"
)

// A Reader reads a database.
type Reader interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Tables returns the names of all tables of a database, in order.
func Tables(t testing.TB, db Reader) (names []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), `SELECT name FROM sqlite_master WHERE type = 'table'`)
	if err != nil { // it is PostgreSQL
		rows, err = db.QueryContext(t.Context(), `SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()`)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	return names
}

// Holding returns the tables in which a text stands, in whatever column.
func Holding(t testing.TB, db Reader, text string) (found []string) {
	t.Helper()
	for _, table := range Tables(t, db) {
		if holds(t, db, table, text) {
			found = append(found, table)
		}
	}
	return found
}

func holds(t testing.TB, db Reader, table, text string) (hit bool) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), `SELECT * FROM "`+table+`"`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		values, to := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			to[i] = &values[i]
		}
		if err := rows.Scan(to...); err != nil {
			t.Fatal(err)
		}
		for _, v := range values {
			b, isBytes := v.([]byte)
			s, _ := v.(string)
			hit = hit || strings.Contains(s, text) || isBytes && bytes.Contains(b, []byte(text))
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return hit
}
