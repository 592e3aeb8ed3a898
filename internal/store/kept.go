package store

import (
	"context"
	"database/sql"
	"encoding/json"

	"molar/internal/store/database"
	"molar/schemas"
)

// KeepTurn stores a turn, and deletes those that have expired. One whose conversation or owner was erased
// since it started is not stored.
func (s *State) KeepTurn(ctx context.Context, k schemas.PauseRecord) error {
	return s.db.WriteRelaxed(ctx, "keep turn", func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `DELETE FROM kept_turns WHERE expires <= $1`, database.Millis(s.db.Now())); err != nil {
			return err
		}
		if erased, err := erasedIn(ctx, tx, k.ConversationID, k.Owner, k.Started); erased || err != nil {
			return err
		}
		for _, id := range k.CallIDs {
			_, err := tx.ExecContext(ctx, `INSERT INTO kept_turns (owner, call_id, conversation_id, expires, state)
				VALUES ($1, $2, $3, $4, $5) ON CONFLICT (owner, call_id) DO UPDATE SET
					conversation_id = excluded.conversation_id, expires = excluded.expires, state = excluded.state`,
				k.Owner, s.db.SQL.Text(id), k.ConversationID, database.Millis(k.Expires), s.db.SQL.Text(string(k.State)))
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// GetKeptTurn returns the stored state of an owner's turn, by one of its calls; ok is false if
// there is none, or it has expired.
func (s *State) GetKeptTurn(ctx context.Context, owner, callID string) (state json.RawMessage, ok bool, err error) {
	var text string
	err = s.db.Read.QueryRowContext(ctx, `SELECT state FROM kept_turns WHERE owner = $1 AND call_id = $2 AND expires > $3`,
		owner, s.db.SQL.Text(callID), database.Millis(s.db.Now())).Scan(&text)
	ok, err = s.db.Found("get kept turn", err)
	return json.RawMessage(text), ok, err
}

// TakeKeptTurn is [State.GetKeptTurn] for single use: it deletes what it returns.
func (s *State) TakeKeptTurn(ctx context.Context, owner, callID string) (state json.RawMessage, ok bool, err error) {
	const op = "take kept turn"
	var text string
	err = s.db.Write(ctx, op, func(tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, `DELETE FROM kept_turns WHERE owner = $1 AND call_id = $2 AND expires > $3 RETURNING state`,
			owner, s.db.SQL.Text(callID), database.Millis(s.db.Now())).Scan(&text)
	})
	ok, err = s.db.Found(op, err)
	return json.RawMessage(text), ok, err
}
