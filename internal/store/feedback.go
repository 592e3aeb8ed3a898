package store

import (
	"context"
	"database/sql"
	"errors"

	"molar/internal/store/database"
	"molar/schemas"
)

// turnKnown finds the owner and conversation of a turn: by its trace, or, if that is deleted,
// by the saved turn.
const turnKnown = `SELECT owner, conversation_id FROM traces WHERE turn_id = $1 UNION ALL
	SELECT c.owner, c.id FROM turns t JOIN conversations c ON c.num = t.conversation WHERE t.turn_id = $1 LIMIT 1`

// OwnerOf returns the owner of a turn that has a trace or was saved here; ok is false for any other.
func (s *State) OwnerOf(ctx context.Context, turnID string) (owner string, ok bool, err error) {
	var conversation string
	err = s.db.Read.QueryRowContext(ctx, turnKnown, turnID).Scan(&owner, &conversation)
	ok, err = s.db.Found("find the owner of a turn", err)
	return owner, ok, err
}

// PutFeedback stores feedback on a turn in place of earlier feedback; without a mark it
// deletes that. An empty owner means every owner's turns. ok is false if the owner has no such
// turn.
func (s *State) PutFeedback(ctx context.Context, f schemas.Feedback) (stored schemas.Feedback, ok bool, err error) {
	stored = f
	err = s.db.Write(ctx, "put feedback", func(tx *sql.Tx) error {
		ok = false
		err := tx.QueryRowContext(ctx, turnKnown, f.TurnID).Scan(&stored.Owner, &stored.ConversationID)
		if errors.Is(err, sql.ErrNoRows) || err == nil && f.Owner != "" && f.Owner != stored.Owner {
			return nil
		}
		if err != nil {
			return err
		}
		ok, stored.MarkedAt = true, s.db.Now()
		if f.Mark == "" {
			_, err = tx.ExecContext(ctx, `DELETE FROM feedback WHERE turn_id = $1`, f.TurnID)
			return err
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO feedback (turn_id, owner, conversation_id, assistant, mark, note, created_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (turn_id) DO UPDATE SET
				assistant = excluded.assistant, mark = excluded.mark, note = excluded.note, created_at = excluded.created_at`,
			f.TurnID, stored.Owner, stored.ConversationID, s.db.SQL.Text(f.Assistant), f.Mark, s.db.SQL.Text(f.Note), database.Millis(stored.MarkedAt))
		return err
	})
	stored.MarkedAt = database.TimeAt(database.Millis(stored.MarkedAt))
	return stored, ok, err
}

// ListFeedback returns the feedback on an owner's turns, newest first. An empty owner selects all
// owners.
func (s *State) ListFeedback(ctx context.Context, owner string, want schemas.FeedbackFilter) ([]schemas.Feedback, error) {
	limit := want.Limit
	if limit == 0 {
		limit = 1 << 31
	}
	found, err := database.List(ctx, s.db.Read, func(row *sql.Rows) (f schemas.Feedback, err error) {
		var at int64
		err = row.Scan(&f.TurnID, &f.Owner, &f.ConversationID, &f.Assistant, &f.Mark, &f.Note, &at)
		f.MarkedAt = database.TimeAt(at)
		return f, err
	}, `SELECT turn_id, owner, conversation_id, assistant, mark, note, created_at FROM feedback
		WHERE ($1 = '' OR owner = $1) AND ($2 = '' OR mark = $2) AND ($3 = '' OR assistant = $3) AND ($4 = '' OR conversation_id = $4)
			AND created_at >= $5 AND ($7 = '' OR turn_id = $7) ORDER BY created_at DESC, turn_id LIMIT $6`,
		owner, want.Mark, s.db.SQL.Text(want.Assistant), s.db.SQL.Text(want.ConversationID), database.Millis(want.Since), limit, s.db.SQL.Text(want.TurnID))
	return found, s.db.Fault("list feedback", err)
}
