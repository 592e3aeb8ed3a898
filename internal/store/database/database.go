// Package database opens the database of the store: one SQLite file or a PostgreSQL
// database. It owns the schema and its migrations, the pools and transactions, the checks
// and backups of a file, and the kinds of fault. What the tables mean is known to the
// packages above it.
//
// Both databases run the same statements; [Dialect] holds what they say differently.
package database

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
)

// Config says where the database is.
type Config struct {
	// Path is the SQLite file, or the URL of a PostgreSQL database
	// (postgres://user:password@host:port/name). The file is created with mode 0600,
	// its folder with mode 0700, when they are missing; the database must be there.
	Path string
	// MustExist refuses a SQLite file that is not there, instead of creating it.
	MustExist bool
	// AsIs refuses a database whose schema is older than this program, instead of
	// bringing it up to date: for commands that only look.
	AsIs bool
	// Logger may be nil: nothing is logged then.
	Logger *slog.Logger
	// Now is the clock; nil means time.Now, and for leases PostgreSQL's own, which every
	// replica shares.
	Now func() time.Time
	// BusyTimeout is how long to wait for another process that is writing; zero
	// means 5 s.
	BusyTimeout time.Duration
	// CheckDelay is how long after an unclean stop was found the check of the file
	// begins, so that a short command does not pay for it; zero means 1 s.
	CheckDelay time.Duration
}

const (
	defaultBusyTimeout = 5 * time.Second
	defaultCheckDelay  = time.Second
)

// DB is the open database. It is safe for concurrent use, and several processes
// may have one database open.
type DB struct {
	// Durable commits reach the disk before they return. Relaxed commits survive a
	// crash of the process but not a loss of power: right for leases, claims and
	// traces, which are worth nothing after one.
	Durable, Relaxed *sql.DB
	// Read takes no writes.
	Read *sql.DB
	// Writing is held around every write of this process on SQLite: waiting in line
	// here is fair and cheap, waiting for SQLite's lock is polling. PostgreSQL, where
	// it is nil, takes many writers.
	Writing chan struct{}
	SQL     Dialect
	Log     *slog.Logger

	// name is the file's absolute path, or the database's URL without its password.
	name string
	now  func() time.Time
	busy time.Duration
	// databaseClock means that leases expire by the database's clock.
	databaseClock bool
	// single is how a connection of its own is opened; PostgreSQL's alone.
	single *pgx.ConnConfig
	// present is SQLite's alone.
	present *presence

	background sync.WaitGroup
	stop       context.CancelFunc
	// damage is what the check after an unclean stop found.
	damage atomic.Pointer[Error]
}

// Open opens the database, creating and migrating it as needed. Faults of the
// database are of type [*Error]. The caller closes it.
func Open(ctx context.Context, cfg Config) (*DB, error) {
	if cfg.Path == "" {
		return nil, errors.New("open store: no path given")
	}
	d := &DB{Log: cfg.Logger, now: cfg.Now, busy: cfg.BusyTimeout, stop: func() {}}
	if d.Log == nil {
		d.Log = slog.New(slog.DiscardHandler)
	}
	if d.now == nil {
		d.now = time.Now
	}
	if d.busy <= 0 {
		d.busy = defaultBusyTimeout
	}
	if cfg.CheckDelay <= 0 {
		cfg.CheckDelay = defaultCheckDelay
	}
	open := d.openSQLite
	if isPostgres(cfg.Path) {
		open, d.databaseClock = d.openPostgres, cfg.Now == nil
	}
	if err := open(ctx, cfg); err != nil {
		return nil, d.Fault("open store", errors.Join(err, d.Close()))
	}
	return d, nil
}

// Path returns the absolute path of the database file, or the URL of the database
// without its password.
func (d *DB) Path() string { return d.name }

// Ping reports whether the database answers, and is sound as far as is known.
func (d *DB) Ping(ctx context.Context) error {
	if damage := d.damage.Load(); damage != nil {
		return damage
	}
	var one int
	return d.Fault("ping store", d.Read.QueryRowContext(ctx, "SELECT 1").Scan(&one))
}

// Close closes the database. Calls under way end with an error.
func (d *DB) Close() error {
	d.stop()
	d.background.Wait()
	var errs []error
	for _, pool := range []*sql.DB{d.Read, d.Relaxed, d.Durable} {
		if pool != nil {
			errs = append(errs, pool.Close())
		}
	}
	errs = append(errs, d.present.leave())
	d.present = nil
	return d.Fault("close store", errors.Join(errs...))
}

// Now is the time of the clock that the database was opened with.
func (d *DB) Now() time.Time { return d.now() }

// Clock is the time by which leases expire, for NOW() of a statement. It is nil, the
// database's own clock, where several processes on several machines must agree.
func (d *DB) Clock() any {
	if d.databaseClock {
		return nil
	}
	return Millis(d.now())
}

// lock waits for the turn to write. The returned func ends it.
func (d *DB) lock(ctx context.Context) (unlock func(), err error) {
	if d.Writing == nil {
		return func() {}, ctx.Err()
	}
	select {
	case d.Writing <- struct{}{}:
		return func() { <-d.Writing }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write runs f in one durable transaction. f may run again when the database asks
// for it, so it must set what it returns, not add to it.
func (d *DB) Write(ctx context.Context, op string, f func(tx *sql.Tx) error) error {
	return d.transact(ctx, d.Durable, op, f)
}

// WriteRelaxed is Write in a relaxed transaction.
func (d *DB) WriteRelaxed(ctx context.Context, op string, f func(tx *sql.Tx) error) error {
	return d.transact(ctx, d.Relaxed, op, f)
}

func (d *DB) transact(ctx context.Context, pool *sql.DB, op string, f func(tx *sql.Tx) error) error {
	unlock, err := d.lock(ctx)
	if err != nil {
		return d.Fault(op, err)
	}
	defer unlock()
	const attempts = 5
	for range attempts {
		if err = InTx(ctx, pool, f); !rolledBackForOthers(err) {
			break
		}
	}
	return d.Fault(op, err)
}

// Exec is [DB.Write] of a single statement, and returns how many rows it changed.
func (d *DB) Exec(ctx context.Context, op, query string, args ...any) (changed int64, err error) {
	err = d.Write(ctx, op, func(tx *sql.Tx) (err error) {
		changed, err = Changed(tx.ExecContext(ctx, query, args...))
		return err
	})
	return changed, err
}

// InTx runs f in one transaction, whoever else is writing.
func InTx(ctx context.Context, pool *sql.DB, f func(tx *sql.Tx) error) error {
	tx, err := pool.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := f(tx); err != nil {
		// The rollback's own error adds nothing to the one that caused it.
		_ = tx.Rollback()
		return err
	}
	return tx.Commit()
}

// Short is the context of a read of a few rows. SQLite's readers never wait, and
// watching a context costs more than the read.
func (d *DB) Short(ctx context.Context) context.Context {
	if d.Writing == nil {
		return ctx
	}
	return context.WithoutCancel(ctx)
}

// Millis is how times are stored.
func Millis(t time.Time) int64 { return t.UnixMilli() }

// TimeAt is the reverse of [Millis]; 0 is the zero time.
func TimeAt(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
