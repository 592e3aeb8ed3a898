package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// readers is the size of SQLite's read pool. Reads are short, and more of them at
// once than there are cores gains nothing.
const readers = 4

func (d *DB) openSQLite(ctx context.Context, cfg Config) (err error) {
	d.name = cfg.Path // for an error of Abs
	if d.name, err = filepath.Abs(cfg.Path); err != nil {
		return err
	}
	d.sql, d.writing = sqliteDialect(), make(chan struct{}, 1)
	if cfg.MustExist {
		if _, err := os.Stat(d.name); errors.Is(err, fs.ErrNotExist) {
			return &Error{Op: "open store", Path: d.name, Kind: KindAbsent}
		}
	}
	if err := d.createFile(); err != nil {
		return err
	}
	unclean := d.leftLog()
	if d.durable, err = d.openPool(1, durableSync); err != nil {
		return err
	}
	if err := migrate(ctx, d.durable, d.name); err != nil {
		return err
	}
	if d.relaxed, err = d.openPool(1, "synchronous(NORMAL)"); err != nil {
		return err
	}
	if d.read, err = d.openPool(readers, "query_only(1)"); err != nil {
		return err
	}
	if unclean {
		d.checkLater(cfg.CheckDelay)
	}
	return nil
}

// createFile makes folder and file with modes that keep other users out. SQLite
// gives its side files the mode of the database. An existing file is not opened
// here: closing it again would drop the locks that this process may hold on it
// through another DB.
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
			d.log.Warn("the database is readable by other users", "path", d.name, "error", err)
		}
	}
	return nil
}

// leftLog reports whether a write-ahead log is there. The last one to close the
// file takes it away: one that is there means that somebody was killed, or has the
// file open now, when a check does no harm.
func (d *DB) leftLog() bool {
	info, err := os.Stat(d.name + "-wal")
	return err == nil && info.Size() > 0
}

func (d *DB) openPool(conns int, pragma string) (*sql.DB, error) {
	query := url.Values{
		// busy_timeout first: the other settings may have to wait for a lock.
		"_pragma": {
			fmt.Sprintf("busy_timeout(%d)", d.busy.Milliseconds()), "journal_mode(WAL)", "foreign_keys(1)", "secure_delete(1)", pragma,
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
