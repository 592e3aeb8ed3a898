package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"molar/internal/store/database"
)

// retentionBatch is how many conversations one transaction deletes, so that turns need not
// wait for all of them.
const retentionBatch = 100

// DeleteOlder deletes every conversation, except for those of visitors, whose last change is before the time, with all its
// data, and traces, answers under a key and paused turns as old; those of conversations that an
// assistant in except answered last stay. No text stays in SQLite's files. It returns how many
// conversations were deleted, also with an error.
func (d *DB) DeleteOlder(ctx context.Context, before time.Time, except ...string) (int, error) {
	return d.deleteOlder(ctx, before, answeredBy{except, false})
}

// DeleteOlderOf is [DB.DeleteOlder] for the conversations that an assistant answered last.
func (d *DB) DeleteOlderOf(ctx context.Context, before time.Time, assistant string) (int, error) {
	return d.deleteOlder(ctx, before, answeredBy{[]string{assistant}, true})
}

// answeredBy selects conversations by the assistant that answered last: one of the names, or none of
// them.
type answeredBy struct {
	names []string
	in    bool
}

// list returns the names as an argument of SQL.
func (a answeredBy) list() (string, error) {
	list, err := json.Marshal(append([]string{}, a.names...))
	return string(list), err
}

// where is a condition on conversations. $1 is a time, $2 the list.
func (a answeredBy) where() string {
	not := "NOT "
	if a.in {
		not = ""
	}
	return `updated_at < $1 AND assistant ` + not + `IN (SELECT value FROM EACH($2) AS named) AND NOT ` + ofVisitors
}

// rows is a condition on the rows of a table that belong to conversations, $2 is the list. Where others
// than the named ones are meant, rows without a conversation are, too.
func (a answeredBy) rows(table string) string {
	exists := fmt.Sprintf(`EXISTS (SELECT 1 FROM conversations c WHERE c.owner = %[1]s.owner AND c.id = %[1]s.conversation_id
		AND c.assistant IN (SELECT value FROM EACH($2) AS named))`, table)
	if !a.in {
		exists = "NOT " + exists
	}
	return exists + " AND NOT " + ofVisitors
}

func (d *DB) deleteOlder(ctx context.Context, before time.Time, of answeredBy) (int, error) {
	const op = "delete old conversations"
	list, err := of.list()
	if err != nil {
		return 0, d.db.Fault(op, err)
	}
	deleted, more := 0, int64(0)
	for {
		// They are looked for before other writers are locked out, and checked again afterwards.
		old, err := d.oldest(ctx, of, before, list)
		if err != nil {
			return deleted, d.db.Fault(op, err)
		}
		var gone int
		err = d.db.Write(ctx, op, func(tx *sql.Tx) (err error) {
			gone, err = d.deleteOldIn(ctx, tx, old, database.Millis(before))
			return err
		})
		if err != nil {
			return deleted, err
		}
		deleted += gone
		// If only those remain that others are changing right now, they are not old.
		if len(old) < retentionBatch || gone == 0 {
			break
		}
	}
	err = d.db.Write(ctx, op, func(tx *sql.Tx) (err error) {
		if more, err = d.deleteOlderIn(ctx, tx, of, before, list); err != nil {
			return err
		}
		return dropErasures(ctx, tx, d.db.Now())
	})
	if err == nil && (deleted > 0 || more > 0) {
		d.db.ScrubLog(ctx)
	}
	return deleted, err
}

func (d *DB) deleteOldIn(ctx context.Context, tx *sql.Tx, old []oldConversation, before int64) (gone int, err error) {
	for _, c := range old {
		n, err := database.Changed(tx.ExecContext(ctx, deleteConversation+` AND updated_at < $2`, c.num, before))
		if err != nil {
			return 0, err
		}
		if n == 0 {
			continue
		}
		if err := d.forget(ctx, tx, c.id, c.owner); err != nil {
			return 0, err
		}
		gone++
	}
	return gone, nil
}

// deleteOlderIn deletes the host's data of turns before a time, also of those without a
// conversation, and returns how many rows that were.
func (d *DB) deleteOlderIn(ctx context.Context, tx *sql.Tx, of answeredBy, before time.Time, list string) (deleted int64, err error) {
	for _, table := range []string{"traces", "feedback", "reviews", "wires", "idempotency", "responses", "kept_results"} {
		n, err := database.Changed(tx.ExecContext(ctx, d.db.SQL.Say(`DELETE FROM `+table+` WHERE created_at < $1 AND `+of.rows(table)), database.Millis(before), list))
		if err != nil {
			return 0, err
		}
		deleted += n
	}
	if of.in { // what follows belongs to no assistant
		return deleted, nil
	}
	for _, statement := range []string{
		`DELETE FROM kept_turns WHERE expires < $1`,
		`DELETE FROM webhook_events WHERE created_at < $1`,
	} {
		n, err := database.Changed(tx.ExecContext(ctx, statement, database.Millis(before)))
		if err != nil {
			return 0, err
		}
		deleted += n
	}
	return deleted, nil
}

type oldConversation struct {
	num       int64
	id, owner string
}

// oldest returns a batch of old conversations.
func (d *DB) oldest(ctx context.Context, of answeredBy, before time.Time, list string) ([]oldConversation, error) {
	return database.List(ctx, d.db.Read, func(row *sql.Rows) (c oldConversation, err error) {
		err = row.Scan(&c.num, &c.id, &c.owner)
		return c, err
	}, d.db.SQL.Say(`SELECT num, id, owner FROM conversations WHERE `+of.where()+` ORDER BY updated_at LIMIT $3`), database.Millis(before), list, retentionBatch)
}
