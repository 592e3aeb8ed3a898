package store

import (
	"context"
	"database/sql"
	"errors"
	"sync/atomic"
	"time"

	"molar/internal/store/database"
)

// DB is the open store. It is safe for concurrent use, and several processes may have one
// database open.
type DB struct {
	// The host's own state, in the same database.
	*State
	// The files of questions, in the same database.
	*Files

	db      *database.DB
	stmts   statements
	changes changeQueue
	answers waitingAnswers
	// begun counts begun turns, for the periodic clean-up of leases.
	begun atomic.Int64
}

// Config configures the database.
type Config = database.Config

// Open opens the store, creating and migrating its database as needed. Faults of the
// database are of type [*database.Error]. The caller closes it.
func Open(ctx context.Context, cfg Config) (*DB, error) {
	const op = "open store"
	db, err := database.Open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	d := &DB{State: NewState(db), Files: newFiles(db), db: db}
	if err = d.stmts.prepare(ctx, db); err == nil {
		err = db.WriteRelaxed(ctx, op, func(tx *sql.Tx) error { return d.reap(ctx, tx) })
	}
	if err != nil {
		return nil, db.Fault(op, errors.Join(err, d.stmts.close(), db.Close()))
	}
	return d, nil
}

// Live returns the store that replicas share for running turns; nil unless the database is
// PostgreSQL. replica names this process.
func (d *DB) Live(replica string) *Live {
	if !d.db.IsPostgres() {
		return nil
	}
	return newLive(d.db, replica)
}

// Path returns the absolute path of the database file, or the URL of the database
// without its password.
func (d *DB) Path() string { return d.db.Path() }

// Schema returns the number of the schema, when the database was opened and before that.
func (d *DB) Schema() database.Schema { return d.db.Schema() }

// Version tells changes of the database, as [database.DB.Version] does.
func (d *DB) Version(ctx context.Context) (version int64, known bool) { return d.db.Version(ctx) }

// Ping reports whether the database answers, and is sound as far as is known.
func (d *DB) Ping(ctx context.Context) error { return d.db.Ping(ctx) }

// Check reads the whole file, as [database.DB.Check] does.
func (d *DB) Check(ctx context.Context) error { return d.db.Check(ctx) }

// Backup copies the database to a new file, as [database.DB.Backup] does.
func (d *DB) Backup(ctx context.Context, file string) error { return d.db.Backup(ctx, file) }

// Empty deletes all data, as [database.DB.Empty] does.
func (d *DB) Empty(ctx context.Context) error { return d.db.Empty(ctx) }

// Close closes the database. Calls under way end with an error.
func (d *DB) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	d.answers.mu.Lock()
	defer d.answers.mu.Unlock()
	return errors.Join(d.writeAnswers(ctx), d.stmts.close(), d.db.Close())
}
