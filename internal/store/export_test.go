package store

import (
	"context"
	"database/sql"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"molar/internal/store/database"
)

// LimitPages makes the database as full as a full disk would.
func (d *DB) LimitPages(t *testing.T, pages int) {
	t.Helper()
	if _, err := d.db.Durable.ExecContext(t.Context(), fmt.Sprintf("PRAGMA max_page_count = %d", pages)); err != nil {
		t.Fatal(err)
	}
}

// CarelessCommits lets durable commits return before they are on the disk.
func (d *DB) CarelessCommits(ctx context.Context) error {
	_, err := d.db.Durable.ExecContext(ctx, "PRAGMA synchronous = OFF")
	return err
}

// HoldWrites keeps every writer waiting until the returned func is called.
func (d *DB) HoldWrites(t *testing.T) (release func()) {
	t.Helper()
	d.db.Writing <- struct{}{}
	return func() { <-d.db.Writing }
}

// HoldFile takes SQLite's own write lock until the returned func is called.
func (d *DB) HoldFile(t *testing.T) (release func()) {
	t.Helper()
	tx, err := d.db.Durable.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := tx.Rollback(); err != nil {
			t.Error(err)
		}
	}
}

// Commits is the number of transactions that changed the file.
func (d *DB) Commits(t *testing.T) (n int) {
	t.Helper()
	// data_version changes on one connection with every commit of another one.
	if err := d.db.Relaxed.QueryRowContext(t.Context(), "PRAGMA data_version").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// Plan returns how PostgreSQL would answer a request for a list.
func (d *DB) Plan(t *testing.T, req ListRequest) string {
	t.Helper()
	query, args, err := d.listQuery(req)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := database.List(t.Context(), d.db.Read, func(row *sql.Rows) (line string, err error) {
		err = row.Scan(&line)
		return line, err
	}, "EXPLAIN "+query, args...)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}

// AwaitWaiting returns when that many turns wait to be saved.
func (d *DB) AwaitWaiting(turns int) {
	for {
		d.changes.mu.Lock()
		n := len(d.changes.waiting)
		d.changes.mu.Unlock()
		if n >= turns {
			return
		}
		runtime.Gosched()
	}
}
