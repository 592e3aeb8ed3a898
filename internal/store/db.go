package store

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// Config says where the database is.
type Config struct {
	// Path is the SQLite file, or the URL of a PostgreSQL database
	// (postgres://user:password@host:port/name). The file is created with mode 0600,
	// its folder with mode 0700, when they are missing; the database must be there.
	Path string
	// MustExist refuses a SQLite file that is not there, instead of creating it.
	MustExist bool
	// Logger may be nil: nothing is logged then.
	Logger *slog.Logger
	// Now is the clock; nil means time.Now.
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
	// name is the file's absolute path, or the database's URL without its password.
	name string
	log  *slog.Logger
	now  func() time.Time
	busy time.Duration
	sql  dialect

	// writing is held around every write of this process on SQLite: waiting in line
	// here is fair and cheap, waiting for SQLite's lock is polling. PostgreSQL, where
	// it is nil, takes many writers.
	writing chan struct{}
	saves   saveQueue
	// durable commits reach the disk before they return. relaxed commits survive a
	// crash of the process but not a loss of power: right for leases, claims and
	// traces, which are worth nothing after one.
	durable, relaxed *sql.DB
	read             *sql.DB

	stmts statements
	// begun counts begun turns, for the occasional clean-up of leases.
	begun atomic.Int64

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
	d := &DB{log: cfg.Logger, now: cfg.Now, busy: cfg.BusyTimeout, stop: func() {}}
	if d.log == nil {
		d.log = slog.New(slog.DiscardHandler)
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
		open = d.openPostgres
	}
	err := open(ctx, cfg)
	if err == nil {
		err = d.stmts.prepare(ctx, d)
	}
	if err != nil {
		return nil, d.fault("open store", errors.Join(err, d.Close()))
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
	return d.fault("ping store", d.read.QueryRowContext(ctx, "SELECT 1").Scan(&one))
}

// Close closes the database. Calls under way end with an error.
func (d *DB) Close() error {
	d.stop()
	d.background.Wait()
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
	if d.writing == nil {
		return func() {}, ctx.Err()
	}
	select {
	case d.writing <- struct{}{}:
		return func() { <-d.writing }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// write runs f in one durable transaction. f may run again when the database asks
// for it, so it must set what it returns, not add to it.
func (d *DB) write(ctx context.Context, op string, f func(tx *sql.Tx) error) error {
	return d.transact(ctx, d.durable, op, f)
}

func (d *DB) transact(ctx context.Context, pool *sql.DB, op string, f func(tx *sql.Tx) error) error {
	unlock, err := d.lock(ctx)
	if err != nil {
		return d.fault(op, err)
	}
	defer unlock()
	const attempts = 5
	for range attempts {
		if err = inTx(ctx, pool, f); !rolledBackForOthers(err) {
			break
		}
	}
	return d.fault(op, err)
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

// short is the context of a read of a few rows. SQLite's readers never wait, and
// watching a context costs more than the read.
func (d *DB) short(ctx context.Context) context.Context {
	if d.writing == nil {
		return ctx
	}
	return context.WithoutCancel(ctx)
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
