package store

import (
	"context"
	"database/sql"
	"errors"

	"molar/internal/store/database"
	"molar/schemas"
)

// PutReview stores a reviewer's mark of a turn in place of an earlier one, beside what the person said
// of it; without a mark it deletes that. ok is false if there is no such turn.
func (s *State) PutReview(ctx context.Context, f schemas.Feedback) (stored schemas.Feedback, ok bool, err error) {
	stored = f
	stored.By = schemas.MarkedByReviewer
	err = s.db.Write(ctx, "put review", func(tx *sql.Tx) error {
		ok = false
		err := tx.QueryRowContext(ctx, turnKnown, f.TurnID).Scan(&stored.Owner, &stored.ConversationID)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		ok, stored.MarkedAt = true, s.db.Now()
		if f.Mark == "" {
			_, err = tx.ExecContext(ctx, `DELETE FROM reviews WHERE turn_id = $1`, f.TurnID)
			return err
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO reviews (turn_id, owner, conversation_id, assistant, mark, note, created_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (turn_id) DO UPDATE SET
				assistant = excluded.assistant, mark = excluded.mark, note = excluded.note, created_at = excluded.created_at`,
			f.TurnID, stored.Owner, stored.ConversationID, s.db.SQL.Text(f.Assistant), f.Mark, s.db.SQL.Text(f.Note), database.Millis(stored.MarkedAt))
		return err
	})
	stored.MarkedAt = database.TimeAt(database.Millis(stored.MarkedAt))
	return stored, ok, err
}

// ListMarks returns the marks of all owners' turns, those of people and those of reviewers, newest
// first.
func (s *State) ListMarks(ctx context.Context, want schemas.FeedbackFilter) ([]schemas.Feedback, error) {
	limit := want.Limit
	if limit == 0 {
		limit = 1 << 31
	}
	among, names := oneOf("assistant", want.Assistants, 7)
	found, err := database.List(ctx, s.db.Read, func(row *sql.Rows) (f schemas.Feedback, err error) {
		var at int64
		err = row.Scan(&f.TurnID, &f.Owner, &f.ConversationID, &f.Assistant, &f.Mark, &f.Note, &at, &f.By)
		f.MarkedAt = database.TimeAt(at)
		return f, err
	}, `SELECT turn_id, owner, conversation_id, assistant, mark, note, created_at, by_whom FROM (
			SELECT turn_id, owner, conversation_id, assistant, mark, note, created_at, 'person' AS by_whom FROM feedback
			UNION ALL SELECT turn_id, owner, conversation_id, assistant, mark, note, created_at, 'reviewer' FROM reviews) AS marks
		WHERE ($1 = '' OR mark = $1) AND ($2 = '' OR assistant = $2) AND ($3 = '' OR conversation_id = $3)
			AND created_at >= $4 AND ($6 = '' OR turn_id = $6)`+among+` ORDER BY created_at DESC, turn_id, by_whom LIMIT $5`,
		append([]any{want.Mark, s.db.SQL.Text(want.Assistant), s.db.SQL.Text(want.ConversationID), database.Millis(want.Since), limit, s.db.SQL.Text(want.TurnID)}, names...)...)
	return found, s.db.Fault("list marks", err)
}

// GetMark returns the mark of a turn: a reviewer's, else the person's. ok is false without one.
func (s *State) GetMark(ctx context.Context, turnID string) (f schemas.Feedback, ok bool, err error) {
	var at int64
	err = s.db.Read.QueryRowContext(ctx, `SELECT turn_id, owner, conversation_id, assistant, mark, note, created_at, by_whom FROM (
			SELECT turn_id, owner, conversation_id, assistant, mark, note, created_at, 'person' AS by_whom FROM feedback
			UNION ALL SELECT turn_id, owner, conversation_id, assistant, mark, note, created_at, 'reviewer' FROM reviews) AS marks
		WHERE turn_id = $1 ORDER BY by_whom DESC LIMIT 1`, turnID).
		Scan(&f.TurnID, &f.Owner, &f.ConversationID, &f.Assistant, &f.Mark, &f.Note, &at, &f.By)
	f.MarkedAt = database.TimeAt(at)
	ok, err = s.db.Found("get mark", err)
	return f, ok, err
}
