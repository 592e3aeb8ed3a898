package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"molar/schemas"
)

// DeleteTurn deletes a saved turn of the conversation of a lease, and releases the lease. No text of
// it stays in SQLite's files. An unknown turn is [ErrNoTurn], a lease that another turn has taken
// [ErrStaleLease].
func (d *DB) DeleteTurn(ctx context.Context, l schemas.Lease, turnID string) error {
	err := d.db.Write(ctx, "delete turn", func(tx *sql.Tx) error {
		if _, err := d.turnUnder(ctx, tx, l); err != nil {
			return err
		}
		var num, waiting int64
		err := tx.QueryRowContext(ctx, `SELECT t.conversation, CASE WHEN t.status = '' AND a.piece IS NULL THEN 1 ELSE 0 END FROM turns t
			JOIN messages a ON a.conversation = t.conversation AND a.seq = t.answer_seq
			JOIN conversations c ON c.num = t.conversation JOIN leases l ON l.id = c.id AND l.owner = c.owner
			WHERE t.turn_id = $1 AND t.saved_at > 0 AND l.id = $2 AND l.token = $3 AND l.fence = $4`, turnID, l.ConversationID, l.Token, l.Fence).
			Scan(&num, &waiting)
		if errors.Is(err, sql.ErrNoRows) {
			return fmt.Errorf("%w: %q", ErrNoTurn, turnID)
		}
		if err == nil {
			err = removeTurn(ctx, tx, turnID)
		}
		if err == nil { // a title that nobody chose quotes the first question
			_, err = tx.ExecContext(ctx, `UPDATE conversations SET behind = behind - CAST($2 AS BIGINT),
				title = CASE WHEN messages = 0 AND titled = 0 THEN '' ELSE title END WHERE num = $1`, num, waiting)
		}
		if err == nil {
			_, err = tx.ExecContext(ctx, endLease, l.ConversationID, l.Token, l.Fence)
		}
		return err
	})
	if err == nil {
		d.db.ScrubLog(ctx)
	}
	return err
}

// removeTurn deletes a turn and joins its successors to its predecessor. The conversation returns
// to its former state: its newest branch ends with the newest remaining message, and it has the
// assistant that answered last.
func removeTurn(ctx context.Context, tx *sql.Tx, turnID string) error {
	var num, user, answer, before, head int64
	var beforeTurn string
	err := tx.QueryRowContext(ctx, `DELETE FROM turns WHERE turn_id = $1 RETURNING conversation, user_seq, answer_seq`, turnID).
		Scan(&num, &user, &answer)
	if err == nil {
		err = tx.QueryRowContext(ctx, `SELECT parent, parent_turn FROM messages WHERE conversation = $1 AND seq = $2`, num, user).
			Scan(&before, &beforeTurn)
	}
	for _, step := range []struct {
		query string
		args  []any
	}{
		{`DELETE FROM messages WHERE conversation = $1 AND seq IN ($2, $3)`, []any{num, user, answer}},
		{`UPDATE messages SET parent = $3 WHERE conversation = $1 AND parent = $2`, []any{num, answer, before}},
		{`UPDATE messages SET parent_turn = $3 WHERE conversation = $1 AND parent_turn = $2`, []any{num, turnID, beforeTurn}},
		// Without a gap after it, the order of the seqs is still that of the messages.
		{`UPDATE conversations SET linear = CASE WHEN last_seq = $2 THEN linear ELSE 0 END,
			last_seq = CASE WHEN last_seq = $2 THEN last_seq - 2 ELSE last_seq END, messages = messages - 2,
			head = coalesce((SELECT max(seq) FROM messages WHERE conversation = num), 0),
			tip = coalesce((SELECT turn_id FROM messages WHERE conversation = num AND turn_id <> '' ORDER BY seq DESC LIMIT 1), ''),
			assistant = coalesce((SELECT m.assistant FROM messages m WHERE m.conversation = num AND m.assistant NOT IN ('', $3) ORDER BY m.seq DESC LIMIT 1), '')
			WHERE num = $1`, []any{num, answer, schemas.Desk}},
	} {
		if err == nil {
			_, err = tx.ExecContext(ctx, step.query, step.args...)
		}
	}
	if err != nil {
		return err
	}
	err = tx.QueryRowContext(ctx, `SELECT head FROM conversations WHERE num = $1`, num).Scan(&head)
	if err != nil {
		return err
	}
	s, err := renderedSummary(ctx, tx, num, head)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `UPDATE conversations SET summary = $2, covers = $3 WHERE num = $1`, num, s.Text, s.Covers)
	return err
}
