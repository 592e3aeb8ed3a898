package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// Config says where the database is.
type Config struct {
	// Path of the database file. It is created with mode 0600, its folder with
	// mode 0700, when they are missing.
	Path string
	// Logger may be nil: nothing is logged then.
	Logger *slog.Logger
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// BusyTimeout is how long to wait for another process that is writing; zero
	// means 5 s.
	BusyTimeout time.Duration
}

const defaultBusyTimeout = 5 * time.Second

// readers is the size of the read pool. Reads are short, and more of them at once
// than there are cores gains nothing.
const readers = 4

// DB is the open database. It is safe for concurrent use, and several processes
// may have one file open.
type DB struct {
	path string
	log  *slog.Logger
	now  func() time.Time
	busy time.Duration

	// writing is held around every write of this process: waiting in line here is
	// fair and cheap, waiting for SQLite's lock is polling.
	writing chan struct{}
	// durable commits reach the disk before they return. relaxed commits survive a
	// crash of the process but not a loss of power: right for leases, claims and
	// traces, which are worth nothing after one.
	durable, relaxed *sql.DB
	read             *sql.DB

	stmts statements
	// begun counts begun turns, for the occasional clean-up of leases.
	begun atomic.Int64
}

// Open opens the database, creating and migrating it as needed. Faults of the
// file are of type [*Error]. The caller closes it.
func Open(ctx context.Context, cfg Config) (*DB, error) {
	if cfg.Path == "" {
		return nil, errors.New("open store: no path given")
	}
	path, err := filepath.Abs(cfg.Path)
	if err != nil {
		return nil, fmt.Errorf("open store %q: %w", cfg.Path, err)
	}
	d := &DB{path: path, log: cfg.Logger, now: cfg.Now, busy: cfg.BusyTimeout, writing: make(chan struct{}, 1)}
	if d.log == nil {
		d.log = slog.New(slog.DiscardHandler)
	}
	if d.now == nil {
		d.now = time.Now
	}
	if d.busy <= 0 {
		d.busy = defaultBusyTimeout
	}
	if err := d.createFile(); err != nil {
		return nil, d.fault("open store", err)
	}
	if err := d.connect(ctx); err != nil {
		return nil, d.fault("open store", errors.Join(err, d.Close()))
	}
	return d, nil
}

// createFile makes folder and file with modes that keep other users out. SQLite
// gives its side files the mode of the database. An existing file is not opened
// here: closing it again would drop the locks that this process may hold on it
// through another DB.
func (d *DB) createFile() error {
	if err := os.MkdirAll(filepath.Dir(d.path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(d.path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		return f.Close()
	}
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Stat(d.path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return &Error{Op: "open store", Path: d.path, Kind: KindForeign, Err: errors.New("not a regular file")}
	}
	if info.Mode().Perm()&0o077 != 0 {
		if err := os.Chmod(d.path, 0o600); err != nil {
			d.log.Warn("the database is readable by other users", "path", d.path, "error", err)
		}
	}
	return nil
}

func (d *DB) connect(ctx context.Context) (err error) {
	if d.durable, err = d.openPool(1, "synchronous(FULL)"); err != nil {
		return err
	}
	if err := migrate(ctx, d.durable, d.path); err != nil {
		return err
	}
	if d.relaxed, err = d.openPool(1, "synchronous(NORMAL)"); err != nil {
		return err
	}
	if d.read, err = d.openPool(readers, "query_only(1)"); err != nil {
		return err
	}
	return d.stmts.prepare(ctx, d)
}

func (d *DB) openPool(conns int, pragma string) (*sql.DB, error) {
	query := url.Values{
		// busy_timeout first: the other settings may have to wait for a lock.
		"_pragma": {
			fmt.Sprintf("busy_timeout(%d)", d.busy.Milliseconds()), "journal_mode(WAL)", "foreign_keys(1)", "secure_delete(1)", pragma,
		},
		"_txlock": {"immediate"},
	}
	dsn := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(d.path), RawQuery: query.Encode()}
	db, err := sql.Open("sqlite", dsn.String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	return db, nil
}

// Path returns the absolute path of the database file.
func (d *DB) Path() string { return d.path }

// Ping reports whether the database answers.
func (d *DB) Ping(ctx context.Context) error {
	var one int
	return d.fault("ping store", d.read.QueryRowContext(ctx, "SELECT 1").Scan(&one))
}

// Close closes the file. Calls under way end with an error.
func (d *DB) Close() error {
	var errs []error
	errs = append(errs, d.stmts.close())
	for _, pool := range []*sql.DB{d.read, d.relaxed, d.durable} {
		if pool != nil {
			errs = append(errs, pool.Close())
		}
	}
	return d.fault("close store", errors.Join(errs...))
}

// lock waits for the turn to write. The returned func ends it.
func (d *DB) lock(ctx context.Context) (unlock func(), err error) {
	select {
	case d.writing <- struct{}{}:
		return func() { <-d.writing }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// write runs f in one durable transaction.
func (d *DB) write(ctx context.Context, op string, f func(tx *sql.Tx) error) error {
	return d.transact(ctx, d.durable, op, f)
}

func (d *DB) transact(ctx context.Context, pool *sql.DB, op string, f func(tx *sql.Tx) error) error {
	unlock, err := d.lock(ctx)
	if err != nil {
		return d.fault(op, err)
	}
	defer unlock()
	tx, err := pool.BeginTx(ctx, nil)
	if err != nil {
		return d.fault(op, err)
	}
	if err := f(tx); err != nil {
		// The rollback's own error adds nothing to the one that caused it.
		_ = tx.Rollback()
		return d.fault(op, err)
	}
	return d.fault(op, tx.Commit())
}

// millis is how times are stored.
func millis(t time.Time) int64 { return t.UnixMilli() }

// timeAt is the reverse of millis; 0 is the zero time.
func timeAt(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
