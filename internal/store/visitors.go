package store

import (
	"context"
	"database/sql"
	"strings"
	"time"

	"molar/internal/store/database"
)

// ofVisitors is a condition on the rows of a table with owners: they are those of visitors.
const ofVisitors = `owner LIKE 'visitor:%'`

// unchanged is a condition on an owner, $1: nothing was asked or answered since the time $2, nothing runs at the
// time $3, and nobody at the desk is expected. A turn that is not saved yet has its journal and its lease alone.
const unchanged = `NOT EXISTS (SELECT 1 FROM conversations WHERE owner = $1 AND updated_at >= $2)
	AND NOT EXISTS (SELECT 1 FROM traces WHERE owner = $1 AND created_at >= $2)
	AND NOT EXISTS (SELECT 1 FROM live_turns WHERE owner = $1 AND began_at >= $2)
	AND NOT EXISTS (SELECT 1 FROM leases WHERE owner = $1 AND expires > $3)
	AND NOT EXISTS (SELECT 1 FROM handovers WHERE owner = $1 AND (state <> 'closed' OR changed_at >= $2))`

// DeleteVisitors erases every visitor whose conversation and hand-overs did not change since a time, with all that
// is theirs. Who has a hand-over that is not closed, or a turn that runs, stays. No text stays in SQLite's files.
// It returns how many visitors were erased, also with an error.
func (d *DB) DeleteVisitors(ctx context.Context, before time.Time) (deleted int, err error) {
	const op = "delete old visitors"
	if err := d.writeWaiting(ctx); err != nil { // they would be written afterwards
		return 0, err
	}
	of := []string{`SELECT owner FROM conversations WHERE ` + ofVisitors}
	for _, t := range personalTables() {
		of = append(of, `SELECT owner FROM `+t.name+` WHERE `+ofVisitors)
	}
	visitors, err := database.List(ctx, d.db.Read, database.One[string], strings.Join(of, ` UNION `))
	if err != nil {
		return 0, d.db.Fault(op, err)
	}
	for len(visitors) > 0 && err == nil {
		some := visitors[:min(len(visitors), retentionBatch)]
		visitors = visitors[len(some):]
		var gone int
		err = d.db.Write(ctx, op, func(tx *sql.Tx) (err error) {
			gone, err = d.deleteUnchanged(ctx, tx, some, before)
			return err
		})
		if err == nil {
			deleted += gone
		}
	}
	if deleted > 0 {
		d.db.ScrubLog(ctx)
	}
	return deleted, err
}

// deleteUnchanged erases those of the owners that did not change since a time.
func (d *DB) deleteUnchanged(ctx context.Context, tx *sql.Tx, owners []string, before time.Time) (gone int, err error) {
	for _, owner := range owners {
		old, err := database.List(ctx, tx, database.One[bool], `SELECT `+unchanged, d.db.SQL.Text(owner), database.Millis(before), database.Millis(d.db.Now()))
		if err != nil {
			return gone, err
		}
		if !old[0] {
			continue
		}
		// The leases go first and the conversations second, as when a turn is saved.
		if _, err := d.erasePersonIn(ctx, tx, owner); err != nil {
			return gone, err
		}
		if _, err := tx.ExecContext(ctx, `DELETE FROM conversations WHERE owner = $1`, d.db.SQL.Text(owner)); err != nil { // the schema cascades
			return gone, err
		}
		gone++
	}
	return gone, nil
}
