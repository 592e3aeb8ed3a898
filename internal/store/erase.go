package store

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// Clear deletes all messages, the summary, the traces and the title, which is the
// first question, of the conversation and keeps the conversation. A turn under way can
// no longer be saved to it.
func (d *DB) Clear(ctx context.Context, owner, id string) error {
	return d.erase(ctx, "clear conversation", owner, id, func(tx *sql.Tx, num int64) error {
		for _, statement := range []string{
			`DELETE FROM messages WHERE conversation = $1`,
			`DELETE FROM turns WHERE conversation = $1`,
		} {
			if _, err := tx.ExecContext(ctx, statement, num); err != nil {
				return err
			}
		}
		_, err := tx.ExecContext(ctx, `UPDATE conversations SET title = '', summary = '', summary_updated_at = 0, covers = last_seq,
			complete_seq = last_seq, claimed_until = 0, servers_read = '[]', messages = 0, updated_at = $2
			WHERE num = $1`, num, millis(d.now()))
		return err
	})
}

// Delete deletes the conversation with all that belongs to it.
func (d *DB) Delete(ctx context.Context, owner, id string) error {
	return d.erase(ctx, "delete conversation", owner, id, func(tx *sql.Tx, num int64) error {
		_, err := tx.ExecContext(ctx, deleteConversation, num) // messages and turns follow
		return err
	})
}

const deleteConversation = `DELETE FROM conversations WHERE num = $1`

// erase runs f with the number of the conversation and takes away leases and
// traces. The lease goes first and the conversation follows, as in a saved turn, so
// that the two wait for each other in one order; what is added meanwhile waits too.
func (d *DB) erase(ctx context.Context, op, owner, id string, f func(tx *sql.Tx, num int64) error) error {
	err := d.write(ctx, op, func(tx *sql.Tx) error {
		c, err := findIn(ctx, tx, owner, id)
		if err == nil {
			err = d.dropErasures(ctx, tx)
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
		d.scrubLog(ctx)
	}
	return err
}

// forget takes away what stands beside a conversation.
func (d *DB) forget(ctx context.Context, tx *sql.Tx, id, owner string) error {
	if err := d.noteErasure(ctx, tx, owner, id); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, `DELETE FROM leases WHERE id = $1 AND owner = $2`, id, owner); err != nil {
		return err
	}
	for _, table := range hostTables() {
		//nolint:gosec // the names are those of hostTables
		if _, err := tx.ExecContext(ctx, `DELETE FROM `+table+` WHERE conversation_id = $1 AND owner = $2`, id, owner); err != nil {
			return err
		}
	}
	return nil
}

// erasureKept is how long an erasure is remembered: longer than any turn runs.
const erasureKept = 24 * time.Hour

// noteErasure remembers that a conversation was cleared or deleted, for the traces of
// turns that run now. An empty owner means everybody's.
func (d *DB) noteErasure(ctx context.Context, tx *sql.Tx, owner, id string) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO erasures (conversation_id, owner, at) VALUES ($1, $2, $3)
		ON CONFLICT (conversation_id, owner) DO UPDATE SET at = excluded.at`, id, owner, millis(d.now()))
	return err
}

// dropErasures forgets the erasures that no turn can have outlived.
func (d *DB) dropErasures(ctx context.Context, tx *sql.Tx) error {
	_, err := tx.ExecContext(ctx, `DELETE FROM erasures WHERE at < $1`, millis(d.now().Add(-erasureKept)))
	return err
}

// hostTables hold what the host itself knows of a conversation: why its turns did what
// they did, what was answered under a key, and turns that wait for a client's results.
func hostTables() []string { return []string{"traces", "idempotency", "kept_turns"} }

// ForgetConversation deletes what the host itself knows of an owner's conversation; an
// empty owner means everybody's. It is for a host whose conversations are kept
// elsewhere, Clear and Delete take all of that along. Nothing of the text stays in
// SQLite's files.
func (d *DB) ForgetConversation(ctx context.Context, owner, id string) error {
	deleted := int64(0)
	err := d.write(ctx, "forget conversation", func(tx *sql.Tx) error {
		deleted = 0
		if err := errors.Join(d.dropErasures(ctx, tx), d.noteErasure(ctx, tx, owner, id)); err != nil {
			return err
		}
		for _, table := range hostTables() {
			//nolint:gosec // the names are those of hostTables
			res, err := tx.ExecContext(ctx, `DELETE FROM `+table+` WHERE conversation_id = $1 AND ($2 = '' OR owner = $2)`, id, owner)
			if err != nil {
				return err
			}
			n, err := res.RowsAffected()
			if err != nil {
				return err
			}
			deleted += n
		}
		return nil
	})
	if err == nil && deleted > 0 {
		d.scrubLog(ctx)
	}
	return err
}

// scrubLog empties the write-ahead log, which still holds what was deleted. The
// deletion itself stands even when a reader of another process is in the way; the
// next deletion or the last close then does it.
func (d *DB) scrubLog(ctx context.Context) {
	if d.writing == nil {
		return // PostgreSQL's log is the operator's
	}
	unlock, err := d.lock(ctx)
	if err != nil {
		return
	}
	defer unlock()
	var busy, frames, moved int
	err = d.durable.QueryRowContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&busy, &frames, &moved)
	if err != nil || busy != 0 {
		d.log.Warn("deleted text stays in the write-ahead log until the next checkpoint",
			"path", d.name, "busy", busy != 0, "error", err)
	}
}
