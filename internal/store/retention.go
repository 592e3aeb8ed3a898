package store

import (
	"context"
	"database/sql"
	"time"
)

// retentionBatch is how many conversations one transaction deletes, so that turns
// need not wait for the whole work.
const retentionBatch = 100

// DeleteOlder deletes every conversation whose last change lies before the time,
// with all that belongs to it, and traces, answers under a key and waiting turns as
// old. Nothing of the text stays in SQLite's files. It returns how many conversations
// are gone, also beside an error.
func (d *DB) DeleteOlder(ctx context.Context, before time.Time) (int, error) {
	const op = "delete old conversations"
	deleted, more := 0, int64(0)
	for {
		var found, gone int
		err := d.write(ctx, op, func(tx *sql.Tx) (err error) {
			found, gone, err = d.deleteOlderIn(ctx, tx, millis(before))
			return err
		})
		if err != nil {
			return deleted, err
		}
		deleted += gone
		// When only such are left as others are changing right now, they are not old.
		if found < retentionBatch || gone == 0 {
			break
		}
	}
	err := d.write(ctx, op, func(tx *sql.Tx) (err error) {
		if more, err = deleteOldStateIn(ctx, tx, millis(before)); err != nil {
			return err
		}
		return d.dropErasures(ctx, tx)
	})
	if err == nil && (deleted > 0 || more > 0) {
		d.scrubLog(ctx)
	}
	return deleted, err
}

// deleteOldStateIn deletes what the host knows of turns as old, also of those that left
// no conversation behind.
func deleteOldStateIn(ctx context.Context, tx *sql.Tx, before int64) (deleted int64, err error) {
	for _, statement := range []string{
		`DELETE FROM traces WHERE created_at < $1`,
		`DELETE FROM idempotency WHERE created_at < $1`,
		`DELETE FROM kept_turns WHERE expires < $1`,
	} {
		res, err := tx.ExecContext(ctx, statement, before)
		if err != nil {
			return 0, err
		}
		n, err := res.RowsAffected()
		if err != nil {
			return 0, err
		}
		deleted += n
	}
	return deleted, nil
}

func (d *DB) deleteOlderIn(ctx context.Context, tx *sql.Tx, before int64) (found, gone int, err error) {
	old, err := oldestIn(ctx, tx, before)
	if err != nil {
		return 0, 0, err
	}
	for _, c := range old {
		// Asked again: on PostgreSQL a turn may have been saved meanwhile.
		res, err := tx.ExecContext(ctx, deleteConversation+` AND updated_at < $2`, c.num, before)
		if err != nil {
			return 0, 0, err
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			if err != nil {
				return 0, 0, err
			}
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
	rows, err := tx.QueryContext(ctx, `SELECT num, id, owner FROM conversations WHERE updated_at < $1
		ORDER BY updated_at LIMIT $2`, before, retentionBatch)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var old []oldConversation
	for rows.Next() {
		var c oldConversation
		if err := rows.Scan(&c.num, &c.id, &c.owner); err != nil {
			return nil, err
		}
		old = append(old, c)
	}
	return old, rows.Err()
}
