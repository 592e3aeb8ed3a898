package store

import (
	"context"
	"database/sql"

	"molar/internal/store/database"
)

// Clear deletes all messages, the summary, the traces and the title, which is the first
// question, of the conversation and keeps the conversation. A running turn can no longer be
// saved to it.
func (d *DB) Clear(ctx context.Context, owner, id string) error {
	return d.erase(ctx, "clear conversation", owner, id, func(tx *sql.Tx, num int64) error {
		for _, statement := range []string{
			`DELETE FROM messages WHERE conversation = $1`,
			`DELETE FROM turns WHERE conversation = $1`,
			`DELETE FROM compactions WHERE conversation = $1`,
		} {
			if _, err := tx.ExecContext(ctx, statement, num); err != nil {
				return err
			}
		}
		_, err := tx.ExecContext(ctx, `UPDATE conversations SET title = '', titled = 0, summary = '', summary_updated_at = 0, covers = 0,
			behind = 0, later = 0, claimed_until = 0, servers_read = '[]', messages = 0, head = 0, tip = '', head_before = 0, tip_before = '',
			linear = 1, updated_at = $2 WHERE num = $1`, num, database.Millis(d.db.Now()))
		return err
	})
}

// Delete deletes the conversation with all its data.
func (d *DB) Delete(ctx context.Context, owner, id string) error {
	return d.erase(ctx, "delete conversation", owner, id, func(tx *sql.Tx, num int64) error {
		_, err := tx.ExecContext(ctx, deleteConversation, num) // the schema cascades
		return err
	})
}

const deleteConversation = `DELETE FROM conversations WHERE num = $1`

// erase runs f with the number of the conversation and deletes leases and traces. The lease
// goes first and the conversation second, as when a turn is saved, so that the two lock in one
// order; concurrent additions wait too.
func (d *DB) erase(ctx context.Context, op, owner, id string, f func(tx *sql.Tx, num int64) error) error {
	err := d.db.Write(ctx, op, func(tx *sql.Tx) error {
		c, err := findIn(ctx, tx, owner, id)
		if err == nil {
			err = dropErasures(ctx, tx, d.db.Now())
		}
		if err != nil {
			return err
		}
		if err := d.forget(ctx, tx, id, c.owner); err != nil {
			return err
		}
		if c, err = d.holdIn(ctx, tx, c.owner, id); err != nil {
			return err
		}
		return f(tx, c.num)
	})
	if err == nil {
		d.db.ScrubLog(ctx)
	}
	return err
}

// forget deletes the rows that refer to a conversation by id.
func (d *DB) forget(ctx context.Context, tx *sql.Tx, id, owner string) error {
	if err := forgetIn(ctx, tx, d.db.Now(), owner, id); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, `DELETE FROM leases WHERE id = $1 AND owner = $2`, id, owner)
	return err
}
