package storetest

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"molar/internal/store/database"
)

// Tables returns the names of all tables of a database, in order.
func Tables(t testing.TB, base *database.DB) []string {
	t.Helper()
	query := `SELECT name FROM sqlite_master WHERE type = 'table'`
	if base.IsPostgres() {
		query = `SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()`
	}
	names, err := database.List(t.Context(), base.Read, database.One[string], query)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	return names
}

// Holding returns the tables in which a text stands, in whatever column.
func Holding(t testing.TB, base *database.DB, text string) (found []string) {
	t.Helper()
	for _, table := range Tables(t, base) {
		rows, err := base.Read.QueryContext(t.Context(), `SELECT * FROM "`+table+`"`) //nolint:gosec // names of the database itself
		if err != nil {
			t.Fatal(err)
		}
		columns, _ := rows.Columns()
		hit := false
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
		_ = rows.Close()
		if hit {
			found = append(found, table)
		}
	}
	return found
}
