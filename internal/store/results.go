package store

import (
	"context"
	"database/sql"

	"molar/internal/store/database"
	"molar/schemas"
)

// Limits of the kept results, in bytes: of one conversation, and of all together. The oldest go
// first.
const (
	maxConversationResults = 64 << 20
	maxResults             = 2 << 30
)

// KeepResult stores a text in place of one with its id, and deletes the oldest above the limits.
// Nothing is stored for a conversation that was erased since the turn began.
func (s *State) KeepResult(ctx context.Context, r schemas.KeptResult) error {
	return s.db.WriteRelaxed(ctx, "keep result", func(tx *sql.Tx) error {
		//nolint:gosec // the condition has only numbers in it
		_, err := tx.ExecContext(ctx, `INSERT INTO kept_results (owner, conversation_id, id, server, created_at, size, data)
			SELECT CAST($1 AS TEXT), CAST($2 AS TEXT), CAST($3 AS TEXT), CAST($4 AS TEXT), CAST($5 AS BIGINT), CAST($6 AS BIGINT), $7
			WHERE NOT `+erasedSince(2, 1, 9, 8)+`
			ON CONFLICT (owner, conversation_id, id) DO UPDATE SET
				server = excluded.server, created_at = excluded.created_at, size = excluded.size, data = excluded.data`,
			r.Owner, r.ConversationID, s.db.SQL.Text(r.ID), s.db.SQL.Text(r.Server), database.Millis(s.db.Now()), len(r.Text), []byte(r.Text),
			database.Millis(r.Started), ErasureMark(r.Owner))
		if err != nil {
			return err
		}
		if err := pruneResults(ctx, tx, `conversation_id = $2 AND owner = $3`, maxConversationResults, r.ConversationID, r.Owner); err != nil {
			return err
		}
		return pruneResults(ctx, tx, `TRUE`, maxResults)
	})
}

// pruneResults deletes the oldest results above a limit, $1, among those that fulfil a condition on $2
// and $3.
func pruneResults(ctx context.Context, tx *sql.Tx, condition string, most int64, args ...any) error {
	var size int64
	fits := `SELECT coalesce(sum(size), 0) FROM kept_results WHERE CAST($1 AS BIGINT) >= 0 AND ` + condition
	err := tx.QueryRowContext(ctx, fits, append([]any{most}, args...)...).Scan(&size)
	if err != nil || size <= most {
		return err
	}
	//nolint:gosec // the conditions are constants of this file
	above := `DELETE FROM kept_results WHERE ` + condition + ` AND created_at <= (
		SELECT max(created_at) FROM (
			SELECT created_at, sum(size) OVER (ORDER BY created_at DESC, id) AS running FROM kept_results WHERE ` + condition + `) AS sums
		WHERE running > $1)`
	_, err = tx.ExecContext(ctx, above, append([]any{most}, args...)...)
	return err
}

// GetKeptResult returns a text; ok is false if it is not or no longer kept.
func (s *State) GetKeptResult(ctx context.Context, owner, conversationID, id string) (r schemas.KeptResult, ok bool, err error) {
	var data []byte
	err = s.db.Read.QueryRowContext(ctx, `SELECT server, data FROM kept_results WHERE owner = $1 AND conversation_id = $2 AND id = $3`,
		owner, conversationID, s.db.SQL.Text(id)).Scan(&r.Server, &data)
	ok, err = s.db.Found("get kept result", err)
	r.Owner, r.ConversationID, r.ID, r.Text = owner, conversationID, id, string(data)
	return r, ok, err
}

// HasKeptResults reports whether texts of a conversation are kept.
func (s *State) HasKeptResults(ctx context.Context, owner, conversationID string) (bool, error) {
	var one int
	err := s.db.Read.QueryRowContext(ctx, `SELECT 1 FROM kept_results WHERE conversation_id = $1 AND owner = $2 LIMIT 1`, conversationID, owner).Scan(&one)
	return s.db.Found("look for kept results", err)
}
