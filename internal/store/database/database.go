// Package database opens the database of the store: one SQLite file or a PostgreSQL database.
// It owns the schema and its migrations, the pools and transactions, the checks and backups of
// a file, and the kinds of fault. The packages that use it know the meaning of the tables.
//
// Both databases run the same statements; [Dialect] holds the differences.
package database

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
)

// Config configures the database.
type Config struct {
	// Path is the SQLite file, or the URL of a PostgreSQL database
	// (postgres://user:password@host:port/name). A missing file is created with mode 0600, its
	// folder with mode 0700; a PostgreSQL database must exist.
	Path string
	// MustExist refuses a missing SQLite file, instead of creating it.
	MustExist bool
	// AsIs refuses a database whose schema is older than this program, instead of migrating
	// it: for commands that only read.
	AsIs bool
	// Logger may be nil to log nothing.
	Logger *slog.Logger
	// Now is the clock; nil means time.Now, and for leases PostgreSQL's own, which every
	// replica shares.
	Now func() time.Time
	// BusyTimeout is how long to wait for another process that is writing; zero
	// means 5 s.
	BusyTimeout time.Duration
	// CheckDelay is how long after start the file is checked if the last stop was unclean, so
	// that a short command does not pay for it; zero means 1 s.
	CheckDelay time.Duration
}

const (
	defaultBusyTimeout = 5 * time.Second
	defaultCheckDelay  = time.Second
)

// DB is the open database. It is safe for concurrent use, and several processes may have one
// database open.
type DB struct {
	// Durable commits reach the disk before they return. Relaxed commits survive a crash of
	// the process but not a loss of power: right for leases, claims and traces, which are
	// worthless after one. On SQLite both are one connection, and [DB.InTx] sets what its commit
	// waits for.
	Durable, Relaxed *sql.DB
	// Read is read-only.
	Read *sql.DB
	// Writing is held around every write of this process on SQLite: queueing here is fair and
	// cheap, waiting for SQLite's lock is polling. It is nil on PostgreSQL, which takes many
	// writers.
	Writing chan struct{}
	// FullSync is what SQLite calls synchronous, of a durable commit: FULL.
	FullSync string
	SQL      Dialect
	Log      *slog.Logger

	// name is the file's absolute path, or the database's URL without its password.
	name string
	now  func() time.Time
	busy time.Duration
	// databaseClock means that leases expire by the database's clock.
	databaseClock bool
	// single configures a connection outside the pools; PostgreSQL only.
	single *pgx.ConnConfig
	// schema is that of the database; known is the number of the newest one that this program
	// knows.
	schema Schema
	known  int
	// present, sync, versions and file are for SQLite only. sync is what was set last of the connection that
	// writes; Writing guards it.
	present *presence
	sync    string
	// versions is the one connection that notices what all others change; nil for PostgreSQL.
	versions *sql.DB
	file     fs.FileInfo

	background sync.WaitGroup
	stop       context.CancelFunc
	// damage is the result of the check after an unclean stop.
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
	all, err := migrationsOf("sqlite")
	if err != nil {
		return nil, err
	}
	d.known = len(all)
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

// Ping reports whether the database answers, and is sound as far as is known, and whether this
// program may still run on its schema.
func (d *DB) Ping(ctx context.Context) error {
	if damage := d.damage.Load(); damage != nil {
		return damage
	}
	if err := d.CheckFile(); err != nil {
		return err
	}
	return d.Fault("ping store", d.checkSchema(ctx))
}

// Close closes the database. Running calls fail.
func (d *DB) Close() error {
	d.stop()
	d.background.Wait()
	var errs []error
	for _, pool := range []*sql.DB{d.versions, d.Read, d.Relaxed, d.Durable} {
		if pool != nil {
			errs = append(errs, pool.Close())
		}
	}
	errs = append(errs, d.present.leave())
	d.present = nil
	return d.Fault("close store", errors.Join(errs...))
}

// Now returns the time of the database's clock.
func (d *DB) Now() time.Time { return d.now() }

// Clock is the argument for NOW() of a statement, by which leases expire. It is nil, the
// database's own clock, if several machines must agree.
func (d *DB) Clock() any {
	if d.databaseClock {
		return nil
	}
	return Millis(d.now())
}

// lock waits for the right to write. The returned func releases it.
func (d *DB) lock(ctx context.Context) (unlock func(), err error) {
	if d.Writing == nil {
		return func() {}, ctx.Err()
	}
	if err := d.CheckFile(); err != nil {
		return nil, err
	}
	select {
	case d.Writing <- struct{}{}:
		return func() { <-d.Writing }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write runs f in one durable transaction. f may run again if the database asks for it, so it
// must set its results, not add to them.
func (d *DB) Write(ctx context.Context, op string, f func(tx *sql.Tx) error) error {
	return d.transact(ctx, true, op, f)
}

// WriteRelaxed is Write in a relaxed transaction.
func (d *DB) WriteRelaxed(ctx context.Context, op string, f func(tx *sql.Tx) error) error {
	return d.transact(ctx, false, op, f)
}

func (d *DB) transact(ctx context.Context, durable bool, op string, f func(tx *sql.Tx) error) error {
	unlock, err := d.lock(ctx)
	if err != nil {
		return d.Fault(op, err)
	}
	defer unlock()
	ready, err := d.waitUntil(ctx)
	if err != nil {
		return d.Fault(op, err)
	}
	defer ready()
	const attempts = 5
	for range attempts {
		if err = d.InTx(ctx, durable, f); !rolledBackForOthers(err) {
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

// InTx runs f in one transaction. On SQLite the caller holds Writing.
func (d *DB) InTx(ctx context.Context, durable bool, f func(tx *sql.Tx) error) error {
	if err := d.setSync(ctx, durable); err != nil {
		return err
	}
	pool := d.Relaxed
	if durable {
		pool = d.Durable
	}
	return inTx(ctx, pool, f)
}

func inTx(ctx context.Context, pool *sql.DB, f func(tx *sql.Tx) error) error {
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

// Short returns the context of a read of a few rows. SQLite's readers never wait, and watching
// a context costs more than the read.
func (d *DB) Short(ctx context.Context) context.Context {
	if d.Writing == nil {
		return ctx
	}
	return context.WithoutCancel(ctx)
}

// Millis converts a time to its stored form.
func Millis(t time.Time) int64 { return t.UnixMilli() }

// TimeAt is the reverse of [Millis]; 0 is the zero time.
func TimeAt(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
