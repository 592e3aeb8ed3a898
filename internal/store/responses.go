package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"molar/internal/store/database"
	"molar/schemas"
)

// responseAge is how long a response is kept, unless the retention of conversations is
// shorter.
const responseAge = 30 * 24 * time.Hour

// PutResponse stores a response in place of an earlier one with its id, and deletes those that
// are too old. One whose conversation was erased since it began is not stored.
func (s *State) PutResponse(ctx context.Context, r schemas.StoredResponse) error {
	now := s.db.Now()
	return s.db.WriteRelaxed(ctx, "put response", func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `DELETE FROM responses WHERE created_at < $1`, database.Millis(now.Add(-responseAge))); err != nil {
			return err
		}
		var erased int
		err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM erasures
			WHERE (conversation_id = $1 AND (owner = $2 OR owner = '') OR conversation_id = '' AND owner = $4) AND at > $3`,
			r.ConversationID, r.Owner, database.Millis(r.CreatedAt), ErasureMark(r.Owner)).Scan(&erased)
		if err != nil || erased > 0 {
			return err
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO responses (owner, id, conversation_id, created_at, body)
			VALUES ($1, $2, $3, $4, $5) ON CONFLICT (owner, id) DO UPDATE SET
				conversation_id = excluded.conversation_id, body = excluded.body`,
			r.Owner, s.db.SQL.Text(r.ID), r.ConversationID, database.Millis(r.CreatedAt), s.db.SQL.Text(string(r.Body)))
		return err
	})
}

// GetResponse returns an owner's response; ok is false if there is none.
func (s *State) GetResponse(ctx context.Context, owner, id string) (r schemas.StoredResponse, ok bool, err error) {
	r = schemas.StoredResponse{Owner: owner, ID: id}
	var body string
	var at int64
	err = s.db.Read.QueryRowContext(ctx, `SELECT conversation_id, created_at, body FROM responses WHERE owner = $1 AND id = $2 AND created_at >= $3`,
		owner, s.db.SQL.Text(id), database.Millis(s.db.Now().Add(-responseAge))).Scan(&r.ConversationID, &at, &body)
	r.CreatedAt, r.Body = database.TimeAt(at), json.RawMessage(body)
	ok, err = s.db.Found("get response", err)
	return r, ok, err
}

// DeleteResponse deletes an owner's response, and reports whether there was one. No text stays
// in SQLite's files.
func (s *State) DeleteResponse(ctx context.Context, owner, id string) (deleted bool, err error) {
	n, err := s.db.Exec(ctx, "delete response", `DELETE FROM responses WHERE owner = $1 AND id = $2`, owner, s.db.SQL.Text(id))
	if err == nil && n > 0 {
		s.db.ScrubLog(ctx)
	}
	return n > 0, err
}
