package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"
)

// shownFaults is how many findings of a check are reported.
const shownFaults = 5

// Check reads the whole file and reports damage as an [*Error]. It may take a minute for each
// gigabyte; reads and writes continue meanwhile. A PostgreSQL database is refused with
// [ErrOwnTools].
func (d *DB) Check(ctx context.Context) error {
	if d.Writing == nil {
		return ErrOwnTools
	}
	return d.check(ctx, "check store", d.Read, "integrity_check", "foreign_key_check")
}

func (d *DB) check(ctx context.Context, op string, pool *sql.DB, pragmas ...string) error {
	var found []string
	for _, pragma := range pragmas {
		faults, err := findings(ctx, pool, pragma)
		if err != nil {
			return d.Fault(op, err)
		}
		found = append(found, faults...)
	}
	if len(found) == 0 {
		return nil
	}
	return &Error{Op: op, Path: d.name, Kind: KindCorrupt, Err: errors.New(strings.Join(found, "; "))}
}

// findings runs a checking pragma. If all is well, integrity_check and quick_check return one
// row "ok", foreign_key_check none.
func findings(ctx context.Context, pool *sql.DB, pragma string) (found []string, err error) {
	rows, err := pool.QueryContext(ctx, "PRAGMA "+pragma)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	for rows.Next() && len(found) < shownFaults {
		row := make([]any, len(columns))
		for i := range row {
			row[i] = new(sql.NullString)
		}
		if err := rows.Scan(row...); err != nil {
			return nil, err
		}
		if text := row[0].(*sql.NullString).String; len(columns) > 1 || text != "ok" {
			found = append(found, fmt.Sprintf("%s: %s", pragma, strings.TrimSpace(text)))
		}
	}
	return found, rows.Err()
}

// checkLater looks for damage in the background, after a stop that left a write-ahead log.
// Damage is logged, and Ping reports it from then on.
func (d *DB) checkLater(delay time.Duration) {
	ctx, stop := context.WithCancel(context.Background()) // until Close
	d.stop = stop
	d.background.Go(func() {
		select {
		case <-ctx.Done():
			return
		case <-time.After(delay):
		}
		err := d.check(ctx, "check store after an unclean stop", d.Read, "quick_check")
		switch damage, ok := errors.AsType[*Error](err); {
		case ctx.Err() != nil:
		case ok && damage.Kind == KindCorrupt:
			d.damage.Store(damage)
			d.Log.Error("the database is damaged", "error", err)
		case err != nil:
			d.Log.Warn("the database could not be checked", "error", err)
		default:
			d.Log.Info("the database is sound after an unclean stop", "path", d.name)
		}
	})
}
