package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

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

// begun is what is written of a turn beside its answer.
type begun struct {
	schemas.Lease
	turnID, key, user, assistant, language string
	at                                     time.Time

	owner string
	// parent is the message that the turn continues; not valid means the newest branch.
	parent sql.NullInt64
}

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
	if storedKey(t.key, t.turnID) == "" {
		return nil, nil //nolint:nilnil // no key, no turn
	}
	row, err := turnRowOf(tx.stmt(ctx, findTurnByKey).QueryRowContext(ctx, t.ConversationID, t.owner, t.key))
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

// insertTurn writes a turn that has no place: its question, its answer, and the turn itself.
func (d *DB) insertTurn(ctx context.Context, tx turnTx, t begun, s saving, now int64) error {
	asked := now
	if !t.at.IsZero() {
		asked = min(now, database.Millis(t.at))
	}
	var num, last, from int64
	var before string
	later, due := s.summarised()
	err := tx.stmt(ctx, growByTurn).QueryRowContext(ctx, t.owner, t.ConversationID, s.servers, d.db.SQL.Text(startOf(t.user)),
		t.language, answering(t.assistant), t.turnID, now, t.parent, later, due).Scan(&num, &last, &from, &before)
	if err != nil {
		return err
	}
	if t.parent.Valid {
		if before, err = d.leaveBranch(ctx, tx.Tx, num, from); err != nil {
			return err
		}
	}
	compaction, err := d.compact(ctx, tx, num, s)
	if err != nil {
		return err
	}
	_, err = tx.stmt(ctx, insertTurnMessages).ExecContext(ctx, num, last-1, d.db.SQL.Text(t.user), asked, t.turnID, from, before,
		d.db.SQL.Text(s.Answer), now, s.Status, s.sources, d.db.SQL.Text(string(s.Calls)), t.assistant)
	if err != nil {
		return err
	}
	_, err = tx.stmt(ctx, insertTurn).ExecContext(ctx, t.turnID, num, storedKey(t.key, t.turnID), last-1, before,
		now, s.Status, d.db.SQL.Text(s.Subject), compaction)
	return err
}

// answering returns the assistant of a conversation by the author of an answer: empty for people at the
// desk, after whom the assistant goes on.
func answering(author string) string {
	if author == schemas.Desk {
		return ""
	}
	return author
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

// resumeTurn gives an unanswered question to the turn that asks it again. Its answer and calls
// are replaced when it is saved.
func (d *DB) resumeTurn(ctx context.Context, tx *sql.Tx, old *turnRow, t begun) error {
	for _, step := range []struct {
		query string
		args  []any
	}{
		{`UPDATE turns SET turn_id = $2, status = 'running', saved_at = 0 WHERE turn_id = $1`, []any{old.id, t.turnID}},
		{
			`UPDATE messages SET turn_id = $4, content = $5 WHERE conversation = $1 AND seq IN ($2, $3) AND role = 'user'`,
			[]any{old.num, old.user, old.answer, t.turnID, d.db.SQL.Text(t.user)},
		},
		{
			`UPDATE messages SET turn_id = $4, content = '', status = 'running', assistant = CASE WHEN $5 = '' THEN assistant ELSE $5 END
				WHERE conversation = $1 AND seq IN ($2, $3) AND role = 'assistant'`,
			[]any{old.num, old.user, old.answer, t.turnID, t.assistant},
		},
		{`UPDATE messages SET parent_turn = $3 WHERE conversation = $1 AND parent_turn = $2`, []any{old.num, old.id, t.turnID}},
		{`UPDATE conversations SET tip = $3 WHERE num = $1 AND tip = $2`, []any{old.num, old.id, t.turnID}},
	} {
		if _, err := tx.ExecContext(ctx, step.query, step.args...); err != nil {
			return err
		}
	}
	return nil
}
