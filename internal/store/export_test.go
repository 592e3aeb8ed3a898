package store

import (
	"fmt"
	"testing"
)

// LimitPages makes the database as full as a full disk would.
func (d *DB) LimitPages(t *testing.T, pages int) {
	t.Helper()
	if _, err := d.durable.ExecContext(t.Context(), fmt.Sprintf("PRAGMA max_page_count = %d", pages)); err != nil {
		t.Fatal(err)
	}
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
