package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// readers is the size of SQLite's read pool. Reads are short, and more at once than there are
// cores gain nothing.
const readers = 4

func (d *DB) openSQLite(ctx context.Context, cfg Config) (err error) {
	d.name = cfg.Path // for an error of Abs
	if d.name, err = filepath.Abs(cfg.Path); err != nil {
		return err
	}
	d.SQL, d.Writing = sqliteDialect(), make(chan struct{}, 1)
	if cfg.MustExist {
		if _, err := os.Stat(d.name); errors.Is(err, fs.ErrNotExist) {
			return &Error{Op: "open store", Path: d.name, Kind: KindAbsent}
		}
	}
	if err := d.createFile(); err != nil {
		return err
	}
	logged, unclean := d.hasLog() // a check does no harm while another process has the file open
	if d.Durable, err = d.openPool(1, "synchronous(FULL)"); err != nil {
		return err
	}
	if err = d.connect(ctx); err != nil {
		return err
	}
	// Each change by another connection empties a connection's cache, so one writes both kinds.
	d.Relaxed, d.FullSync = d.Durable, "FULL"
	if d.schema, err = migrate(ctx, d.Durable, d.name, cfg.AsIs); err != nil {
		return err
	}
	if d.Read, err = d.openPool(readers, "query_only(1)"); err != nil {
		return err
	}
	if d.versions, err = d.openPool(1, "query_only(1)"); err != nil { // it connects when it is first used
		return err
	}
	if unclean {
		d.checkLater(cfg.CheckDelay)
	}
	if d.file, err = os.Stat(d.name); err != nil {
		return err
	}
	return d.enter(ctx, logged)
}

// Empty deletes all data of a SQLite database: it is then as new.
func (d *DB) Empty(ctx context.Context) error {
	const op = "empty the store"
	return d.WriteRelaxed(ctx, op, func(tx *sql.Tx) error {
		names, err := List(ctx, tx, One[string], `SELECT name FROM sqlite_schema
			WHERE type = 'table' AND (name NOT LIKE 'sqlite_%' AND name <> 'molar_schema' OR name = 'sqlite_sequence') ORDER BY rowid DESC`) // referring tables come first
		if err != nil {
			return err
		}
		for _, name := range names {
			if _, err := tx.ExecContext(ctx, `DELETE FROM "`+name+`"`); err != nil { //nolint:gosec // a name of the database's own list
				return err
			}
		}
		return nil
	})
}

// enter ends the leases of dead processes if no other process has the file open: nobody can
// hold them then, and nobody needs to wait for them. logged is set if the file had a log.
func (d *DB) enter(ctx context.Context, logged bool) error {
	present, alone := enter(d.name)
	d.present = present
	var err error
	if alone {
		if !logged && d.present.wasOpen() {
			d.damage.Store(&Error{Op: "check store", Path: d.name, Kind: KindLogLost})
			d.Log.Error("the database is not complete", "error", d.damage.Load())
		}
		_, err = d.Relaxed.ExecContext(ctx, `UPDATE leases SET expires = 0 WHERE expires > 0; UPDATE live_turns SET beat_at = 0 WHERE ended_at = 0`) // makes a log
	}
	d.present.stay()
	return err
}

// createFile creates folder and file with modes that keep other users out. SQLite gives its
// side files the mode of the database. An existing file is not opened here: closing it again
// would drop the locks that this process may hold on it through another DB.
func (d *DB) createFile() error {
	if err := os.MkdirAll(filepath.Dir(d.name), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(d.name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		return f.Close()
	}
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Stat(d.name)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return &Error{Op: "open store", Path: d.name, Kind: KindForeign, Err: errors.New("not a regular file")}
	}
	if info.Mode().Perm()&0o077 != 0 {
		if err := os.Chmod(d.name, 0o600); err != nil {
			d.Log.Warn("the database is readable by other users", "path", d.name, "error", err)
		}
	}
	return nil
}

func (d *DB) openPool(conns int, pragma string) (*sql.DB, error) {
	query := url.Values{
		// busy_timeout first: the other settings may have to wait for a lock.
		"_pragma": {
			fmt.Sprintf("busy_timeout(%d)", d.busy.Milliseconds()), "journal_mode(WAL)", "wal_autocheckpoint(4000)", "foreign_keys(1)", "secure_delete(1)", pragma,
		},
		"_txlock": {"immediate"},
	}
	dsn := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(d.name), RawQuery: query.Encode()}
	db, err := sql.Open("sqlite", dsn.String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	return db, nil
}

// connect makes the first connection, which switches a new file to its write-ahead log. SQLite
// does not wait for a lock there (two programs that switch at once would wait for each other):
// it says at once that the file is locked, so the wait is here.
func (d *DB) connect(ctx context.Context) error {
	for end := time.Now().Add(d.busy); ; {
		err := d.Durable.PingContext(ctx)
		if err == nil || KindOf(err) != KindLocked || time.Now().After(end) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// setSync sets whether SQLite's next commit waits for the disk. A connection that replaces a broken one
// waits.
func (d *DB) setSync(ctx context.Context, durable bool) error {
	level := "NORMAL"
	if durable {
		level = d.FullSync
	}
	if d.Writing == nil || d.sync == level {
		return nil
	}
	_, err := d.Durable.ExecContext(ctx, "PRAGMA synchronous = "+level)
	if err == nil {
		d.sync = level
	}
	return err
}

// waitUntil bounds the wait for SQLite's lock by the deadline of a context, which SQLite does
// not see while it waits. The returned func restores the usual wait.
func (d *DB) waitUntil(ctx context.Context) (restore func(), err error) {
	deadline, bounded := ctx.Deadline()
	left := time.Until(deadline)
	if d.Writing == nil || !bounded || left >= d.busy {
		return func() {}, nil
	}
	set := func(ctx context.Context, wait time.Duration) error {
		_, err := d.Durable.ExecContext(ctx, fmt.Sprintf("PRAGMA busy_timeout = %d", wait.Milliseconds()))
		return err
	}
	if err := set(ctx, max(left, 0)); err != nil {
		return nil, err
	}
	return func() {
		if err := set(context.WithoutCancel(ctx), d.busy); err != nil {
			d.Log.Warn("the next write waits for a lock only as long as the last one", "path", d.name, "error", err)
		}
	}, nil
}

// ScrubLog empties the write-ahead log, which still holds deleted text. The deletion itself is
// effective even if a reader of another process is in the way; the next deletion or the last
// close then empties the log.
func (d *DB) ScrubLog(ctx context.Context) {
	if d.Writing == nil {
		return // PostgreSQL's log is the operator's
	}
	unlock, err := d.lock(ctx)
	if err != nil {
		return
	}
	defer unlock()
	var busy, frames, moved int
	err = d.Durable.QueryRowContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&busy, &frames, &moved)
	if err != nil || busy != 0 {
		d.Log.Warn("deleted text stays in the write-ahead log until the next checkpoint",
			"path", d.name, "busy", busy != 0, "error", err)
	}
}
