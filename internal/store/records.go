package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"molar/internal/store/database"
	"molar/schemas"
)

// turnRow is a turn that the database has already.
type turnRow struct {
	id     string
	saved  int64
	status string
	// tip is the last turn of the newest branch.
	tip               string
	num, user, answer int64
	conversation      string
	owner             string
}

// isOpen reports whether the turn has no complete answer.
func (t *turnRow) isOpen() bool { return t.saved == 0 || t.status == schemas.StatusInterrupted }

// turnRowOf reads one; nil means none.
func turnRowOf(row *sql.Row) (*turnRow, error) {
	var t turnRow
	err := row.Scan(&t.id, &t.saved, &t.status, &t.tip, &t.num, &t.user, &t.answer, &t.conversation, &t.owner)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil //nolint:nilnil // no such turn
	}
	return &t, err
}

// begun is what is written of a turn before its answer.
type begun struct {
	schemas.StartedTurn
	owner string
	// parent is the message that the turn continues; not valid means the newest branch.
	parent sql.NullInt64
}

// RecordTurn writes the question of a turn, and that the turn is running. It survives the end
// of this process, but is not synced to the disk by itself. It is called once for each lease;
// an unanswered question that was recorded under the same key is taken over.
func (d *DB) RecordTurn(ctx context.Context, b schemas.StartedTurn) error {
	return d.apply(ctx, "record turn", false, func(ctx context.Context, tx turnTx) error {
		t := begun{StartedTurn: b}
		err := tx.stmt(ctx, holdForTurn).QueryRowContext(ctx, b.Lease.ConversationID, b.Lease.Token, b.Lease.Fence, b.TurnID).
			Scan(&t.owner, &t.parent)
		if errors.Is(err, sql.ErrNoRows) {
			return ErrStaleLease
		}
		if err != nil {
			return err
		}
		row, err := d.earlierTurn(ctx, tx, b.TurnID, b.Lease.ConversationID)
		if err == nil && row != nil && row.saved > 0 {
			return errSaved
		}
		if err == nil && row == nil {
			row, err = d.turnOfKey(ctx, tx, t)
		}
		switch {
		case err != nil:
			return err
		case row == nil:
			_, err = d.insertTurn(ctx, tx, t)
			return err
		case !row.isOpen():
			return errSaved
		}
		return d.resumeTurn(ctx, tx.Tx, row, t) // also when the answer to the first request was lost
	})
}

var errSaved = fmt.Errorf("%w: the turn was saved already", ErrConflict)

// earlierTurn finds the turn with that id.
func (d *DB) earlierTurn(ctx context.Context, tx turnTx, turnID, conversationID string) (*turnRow, error) {
	row, err := turnRowOf(tx.stmt(ctx, findTurn).QueryRowContext(ctx, turnID))
	if row != nil && err == nil && row.conversation != conversationID {
		return nil, fmt.Errorf("%w: turn %q belongs to another conversation", ErrConflict, turnID)
	}
	return row, err
}

// turnOfKey finds the turn of the key that another one was given. If that has no complete answer,
// and this turn cannot continue it in place, it loses the key: this turn is to begin beside it, or
// the conversation went on since.
func (d *DB) turnOfKey(ctx context.Context, tx turnTx, t begun) (*turnRow, error) {
	if storedKey(t.Key, t.TurnID) == "" {
		return nil, nil //nolint:nilnil // no key, no turn
	}
	row, err := turnRowOf(tx.stmt(ctx, findTurnByKey).QueryRowContext(ctx, t.Lease.ConversationID, t.owner, t.Key))
	if err != nil || row == nil || !row.isOpen() || !t.parent.Valid && (row.saved == 0 || row.tip == row.id) {
		return row, err
	}
	_, err = tx.ExecContext(ctx, `UPDATE turns SET key = '' WHERE turn_id = $1`, row.id)
	return nil, err
}

// storedKey returns a key as stored: empty for the turn's own id.
func storedKey(key, turnID string) string {
	if key == turnID {
		return ""
	}
	return key
}

// insertTurn writes question and turn, and creates the place for the answer.
func (d *DB) insertTurn(ctx context.Context, tx turnTx, t begun) (*turnRow, error) {
	now := database.Millis(d.db.Now())
	var num, last, from int64
	var before string
	err := tx.stmt(ctx, growByTurn).QueryRowContext(ctx, t.owner, t.Lease.ConversationID, d.db.SQL.Text(startOf(t.User)),
		t.Language, t.Assistant, t.TurnID, now, t.parent).Scan(&num, &last, &from, &before)
	if err != nil {
		return nil, err
	}
	if t.parent.Valid {
		if before, err = d.leaveBranch(ctx, tx.Tx, num, from); err != nil {
			return nil, err
		}
	}
	_, err = tx.stmt(ctx, insertTurnMessages).ExecContext(ctx, num, last-1, d.db.SQL.Text(t.User), now, t.TurnID, from, before, t.Assistant)
	if err != nil {
		return nil, err
	}
	_, err = tx.stmt(ctx, insertTurn).ExecContext(ctx, t.TurnID, num, storedKey(t.Key, t.TurnID), last-1, before)
	return &turnRow{id: t.TurnID, num: num, user: last - 1, answer: last, conversation: t.Lease.ConversationID, owner: t.owner}, err
}

// leaveBranch moves the summary to the branch that the turn continues, and returns the last
// turn of that branch so far.
func (d *DB) leaveBranch(ctx context.Context, tx *sql.Tx, num, from int64) (turnID string, err error) {
	s, err := renderedSummary(ctx, tx, num, from)
	if err != nil {
		return "", err
	}
	if _, err := tx.ExecContext(ctx, `UPDATE conversations SET summary = $2, covers = $3 WHERE num = $1`, num, s.Text, s.Covers); err != nil {
		return "", err
	}
	err = tx.QueryRowContext(ctx, `SELECT turn_id FROM messages WHERE conversation = $1 AND seq = $2`, num, from).Scan(&turnID)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil // the root
	}
	return turnID, err
}

// resumeTurn gives an unanswered question to the turn that asks it again. Its recorded calls
// stay.
func (d *DB) resumeTurn(ctx context.Context, tx *sql.Tx, old *turnRow, t begun) error {
	for _, step := range []struct {
		query string
		args  []any
	}{
		{`UPDATE turns SET turn_id = $2, status = 'running', saved_at = 0 WHERE turn_id = $1`, []any{old.id, t.TurnID}},
		{
			`UPDATE messages SET turn_id = $4, content = $5 WHERE conversation = $1 AND seq IN ($2, $3) AND role = 'user'`,
			[]any{old.num, old.user, old.answer, t.TurnID, d.db.SQL.Text(t.User)},
		},
		{
			`UPDATE messages SET turn_id = $4, content = '', status = 'running', assistant = $5
				WHERE conversation = $1 AND seq IN ($2, $3) AND role = 'assistant'`,
			[]any{old.num, old.user, old.answer, t.TurnID, t.Assistant},
		},
		{`UPDATE messages SET parent_turn = $3 WHERE conversation = $1 AND parent_turn = $2`, []any{old.num, old.id, t.TurnID}},
		{`UPDATE conversations SET tip = $3 WHERE num = $1 AND tip = $2`, []any{old.num, old.id, t.TurnID}},
	} {
		if _, err := tx.ExecContext(ctx, step.query, step.args...); err != nil {
			return err
		}
	}
	return nil
}

// RecordCall stores a call of a running turn, a round as JSON, and the text so far, before the
// call is sent. It fails with [ErrStaleLease] if a later turn began, and with [ErrNoTurn] if
// the turn was not recorded.
func (d *DB) RecordCall(ctx context.Context, l schemas.Lease, turnID string, round json.RawMessage, text string) error {
	return d.db.WriteRelaxed(ctx, "record call", func(tx *sql.Tx) error {
		recorded, err := d.turnUnder(ctx, tx, l)
		if err != nil {
			return err
		}
		if recorded != turnID || turnID == "" {
			return fmt.Errorf("%w: %q", ErrNoTurn, turnID)
		}
		n, err := database.Changed(tx.ExecContext(ctx, `UPDATE messages SET content = CASE WHEN $2 = '' THEN content ELSE $2 END,
			calls = CASE WHEN calls = '' THEN '[' ELSE substr(calls, 1, length(calls) - 1) || ',' END || $3 || ']'
			WHERE status <> '' AND conversation = (SELECT conversation FROM turns WHERE turn_id = $1 AND saved_at = 0) AND
			seq = (SELECT answer_seq FROM turns WHERE turn_id = $1)`, turnID, d.db.SQL.Text(text), d.db.SQL.Text(string(round))))
		if err != nil || n == 1 {
			return err
		}
		return fmt.Errorf("%w: %q", ErrNoTurn, turnID)
	})
}
