package store

import (
	"context"
	"fmt"
	"runtime"
	"testing"
)

// LimitPages makes the database as full as a full disk would.
func (d *DB) LimitPages(t *testing.T, pages int) {
	t.Helper()
	if _, err := d.durable.ExecContext(t.Context(), fmt.Sprintf("PRAGMA max_page_count = %d", pages)); err != nil {
		t.Fatal(err)
	}
}

// CarelessCommits lets durable commits return before they are on the disk.
func (d *DB) CarelessCommits(ctx context.Context) error {
	_, err := d.durable.ExecContext(ctx, "PRAGMA synchronous = OFF")
	return err
}

// HoldWrites keeps every writer waiting until the returned func is called.
func (d *DB) HoldWrites(t *testing.T) (release func()) {
	t.Helper()
	release, err := d.lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return release
}

// HoldFile takes SQLite's own write lock until the returned func is called.
func (d *DB) HoldFile(t *testing.T) (release func()) {
	t.Helper()
	tx, err := d.durable.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := tx.Rollback(); err != nil {
			t.Error(err)
		}
	}
}

// KindOf is kindOf.
func KindOf(err error) Kind { return kindOf(err) }

// Commits is the number of transactions that changed the file.
func (d *DB) Commits(t *testing.T) (n int) {
	t.Helper()
	// data_version changes on one connection with every commit of another one.
	if err := d.relaxed.QueryRowContext(t.Context(), "PRAGMA data_version").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// AwaitWaiting returns when that many turns wait to be saved.
func (d *DB) AwaitWaiting(turns int) {
	for {
		d.saves.mu.Lock()
		n := len(d.saves.waiting)
		d.saves.mu.Unlock()
		if n >= turns {
			return
		}
		runtime.Gosched()
	}
}

// Rows counts the rows of a table.
func (d *DB) Rows(t *testing.T, table string) (n int) {
	t.Helper()
	if err := d.read.QueryRowContext(t.Context(), "SELECT count(*) FROM "+table).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
