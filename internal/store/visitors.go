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

// resting takes from a selection of owners the visitors for whom something was asked or answered since the time
// $1, for whom something runs at the time $2, or whom the desk may still answer: a hand-over that is left open for a week
// counts as closed since then, as on a host that has a desk no more. A turn that is not saved yet has its journal and
// its lease alone.
const resting = `
	EXCEPT SELECT owner FROM conversations WHERE updated_at >= $1 AND ` + ofVisitors + `
	EXCEPT SELECT owner FROM traces WHERE created_at >= $1 AND ` + ofVisitors + `
	EXCEPT SELECT owner FROM live_turns WHERE began_at >= $1 AND ` + ofVisitors + `
	EXCEPT SELECT owner FROM leases WHERE expires > $2 AND ` + ofVisitors + `
	EXCEPT SELECT owner FROM handovers WHERE (changed_at >= $1 OR state NOT IN ('failed', 'closed') AND changed_at >= $1 - 604800000) AND ` + ofVisitors

// visitorBatch is how many visitors one transaction erases, so that turns need not wait for all of them.
const visitorBatch = 50

// DeleteVisitors erases every visitor whose conversation and hand-overs did not change since a time, with all that
// is theirs. Whom the desk may still answer, and whose turn runs, stays. No text stays in SQLite's files. It returns
// how many visitors were erased, also with an error.
func (d *DB) DeleteVisitors(ctx context.Context, before time.Time) (deleted int, err error) {
	const op = "delete old visitors"
	if err := d.writeWaiting(ctx); err != nil { // they would be written afterwards
		return 0, err
	}
	of := []string{`SELECT owner FROM conversations WHERE ` + ofVisitors}
	for _, t := range personalTables() {
		of = append(of, `SELECT owner FROM `+t.name+` WHERE `+ofVisitors)
	}
	old, err := database.List(ctx, d.db.Read, database.One[string], strings.Join(of, ` UNION `)+resting, database.Millis(before), database.Millis(d.db.Now()))
	if err != nil {
		return 0, d.db.Fault(op, err)
	}
	for len(old) > 0 && err == nil {
		some := old[:min(len(old), visitorBatch)]
		old = old[len(some):]
		gone := 0
		err = d.db.Write(ctx, op, func(tx *sql.Tx) (err error) {
			gone, err = d.deleteResting(ctx, tx, some, before)
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

// deleteResting erases those of some owners that rest still.
func (d *DB) deleteResting(ctx context.Context, tx *sql.Tx, owners []string, before time.Time) (gone int, err error) {
	list, err := d.ownerList(owners)
	if err != nil {
		return 0, err
	}
	old, err := database.List(ctx, tx, database.One[string], d.db.SQL.Say(`SELECT value AS owner FROM EACH($3) AS listed`+resting),
		database.Millis(before), database.Millis(d.db.Now()), list)
	if err != nil || len(old) == 0 {
		return 0, err
	}
	// The leases go first and the conversations second, as when a turn is saved.
	if _, err := d.eraseIn(ctx, tx, old); err != nil {
		return 0, err
	}
	if list, err = d.ownerList(old); err != nil {
		return 0, err
	}
	_, err = tx.ExecContext(ctx, d.db.SQL.Say(`DELETE FROM conversations WHERE owner`+among), list) // the schema cascades
	return len(old), err
}
