package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"
)

// A KeptTurn waits for the results of a client's own tools.
type KeptTurn struct {
	Owner          string
	ConversationID string
	// CallIDs are the calls that it waits for; each of them finds it.
	CallIDs []string
	// State is the caller's own.
	State   json.RawMessage
	Expires time.Time
}

// KeepTurn stores a turn, and deletes those that have expired.
func (d *DB) KeepTurn(ctx context.Context, k KeptTurn) error {
	return d.transact(ctx, d.relaxed, "keep turn", func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `DELETE FROM kept_turns WHERE expires <= $1`, millis(d.now())); err != nil {
			return err
		}
		for _, id := range k.CallIDs {
			_, err := tx.ExecContext(ctx, `INSERT INTO kept_turns (owner, call_id, conversation_id, expires, state)
				VALUES ($1, $2, $3, $4, $5) ON CONFLICT (owner, call_id) DO UPDATE SET
					conversation_id = excluded.conversation_id, expires = excluded.expires, state = excluded.state`,
				k.Owner, d.sql.text(id), k.ConversationID, millis(k.Expires), d.sql.text(string(k.State)))
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// GetKeptTurn returns the state that an owner's turn was kept with, by one of its
// calls; ok is false when there is none, or it has expired.
func (d *DB) GetKeptTurn(ctx context.Context, owner, callID string) (state json.RawMessage, ok bool, err error) {
	var text string
	err = d.read.QueryRowContext(ctx, `SELECT state FROM kept_turns WHERE owner = $1 AND call_id = $2 AND expires > $3`,
		owner, d.sql.text(callID), millis(d.now())).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, false, nil
	}
	return json.RawMessage(text), err == nil, d.fault("get kept turn", err)
}
