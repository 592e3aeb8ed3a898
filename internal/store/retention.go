package store

import (
	"context"
	"database/sql"
	"time"

	"molar/internal/store/database"
)

// retentionBatch is how many conversations one transaction deletes, so that turns need not
// wait for all of them.
const retentionBatch = 100

// DeleteOlder deletes every conversation whose last change is before the time, with all its
// data, and traces, answers under a key and paused turns as old. No text stays in SQLite's
// files. It returns how many conversations were deleted, also with an error.
func (d *DB) DeleteOlder(ctx context.Context, before time.Time) (int, error) {
	const op = "delete old conversations"
	deleted, more := 0, int64(0)
	for {
		var found, gone int
		err := d.db.Write(ctx, op, func(tx *sql.Tx) (err error) {
			found, gone, err = d.deleteOlderIn(ctx, tx, database.Millis(before))
			return err
		})
		if err != nil {
			return deleted, err
		}
		deleted += gone
		// If only those remain that others are changing right now, they are not old.
		if found < retentionBatch || gone == 0 {
			break
		}
	}
	err := d.db.Write(ctx, op, func(tx *sql.Tx) (err error) {
		if more, err = deleteOlderIn(ctx, tx, before); err != nil {
			return err
		}
		return dropErasures(ctx, tx, d.db.Now())
	})
	if err == nil && (deleted > 0 || more > 0) {
		d.db.ScrubLog(ctx)
	}
	return deleted, err
}

func (d *DB) deleteOlderIn(ctx context.Context, tx *sql.Tx, before int64) (found, gone int, err error) {
	old, err := oldestIn(ctx, tx, before)
	if err != nil {
		return 0, 0, err
	}
	for _, c := range old {
		// Checked again: on PostgreSQL a turn may have been saved meanwhile.
		n, err := database.Changed(tx.ExecContext(ctx, deleteConversation+` AND updated_at < $2`, c.num, before))
		if err != nil {
			return 0, 0, err
		}
		if n == 0 {
			continue
		}
		if err := d.forget(ctx, tx, c.id, c.owner); err != nil {
			return 0, 0, err
		}
		gone++
	}
	return len(old), gone, nil
}

type oldConversation struct {
	num       int64
	id, owner string
}

func oldestIn(ctx context.Context, tx *sql.Tx, before int64) ([]oldConversation, error) {
	return database.List(ctx, tx, func(row *sql.Rows) (c oldConversation, err error) {
		err = row.Scan(&c.num, &c.id, &c.owner)
		return c, err
	}, `SELECT num, id, owner FROM conversations WHERE updated_at < $1 ORDER BY updated_at LIMIT $2`, before, retentionBatch)
}
