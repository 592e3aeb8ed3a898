package store

import (
	"database/sql"
	"encoding/binary"
	"fmt"
	"os"
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
func (d *DB) CarelessCommits() { d.db.FullSync = "OFF" }

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

// Commits is the number of transactions in SQLite's write-ahead log: its frames whose header names a
// size of the file. https://sqlite.org/fileformat2.html#the_write_ahead_log
func (d *DB) Commits(t *testing.T) (n int) {
	t.Helper()
	const header, frameHeader = 32, 24
	log, err := os.ReadFile(d.db.Path() + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	page := int(binary.BigEndian.Uint32(log[8:]))
	for frames := log[header:]; len(frames) >= frameHeader+page; frames = frames[frameHeader+page:] {
		if binary.BigEndian.Uint32(frames[4:]) > 0 {
			n++
		}
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
