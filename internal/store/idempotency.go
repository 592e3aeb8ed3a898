package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"
)

// KeyAge is how long an Idempotency-Key is remembered.
const KeyAge = 24 * time.Hour

// A KeyState says how far the turn of a key came.
type KeyState string

// The states of a key.
const (
	// KeyOpen: the turn began, and none of its tools has run.
	KeyOpen KeyState = "open"
	// KeyActed: a tool may have had its effect.
	KeyActed KeyState = "acted"
	// KeyEnded: the turn ended; Outcome says how.
	KeyEnded KeyState = "ended"
)

// A Key is an Idempotency-Key of an owner, and the turn that it began.
type Key struct {
	Owner string
	Key   string
	// Hash is that of the request's body: a key belongs to one body.
	Hash           string
	TurnID         string
	ConversationID string
	State          KeyState
	// Outcome is the caller's own form of what the client was told.
	Outcome   json.RawMessage
	CreatedAt time.Time
}

// ClaimKey stores a key that is not known, or older than [KeyAge], in state KeyOpen.
// For a known one it returns what is stored, and false.
func (d *DB) ClaimKey(ctx context.Context, k Key) (found Key, claimed bool, err error) {
	now := d.now()
	err = d.write(ctx, "claim idempotency key", func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `DELETE FROM idempotency WHERE created_at < $1`, millis(now.Add(-KeyAge))); err != nil {
			return err
		}
		res, err := tx.ExecContext(ctx, `INSERT INTO idempotency
			(owner, key, hash, turn_id, conversation_id, created_at, state, outcome) VALUES ($1, $2, $3, $4, $5, $6, $7, '')
			ON CONFLICT (owner, key) DO NOTHING`,
			k.Owner, d.sql.text(k.Key), k.Hash, k.TurnID, k.ConversationID, millis(now), string(KeyOpen))
		if err != nil {
			return err
		}
		n, err := res.RowsAffected()
		if claimed = n == 1; claimed || err != nil {
			return err
		}
		found, err = d.getKey(ctx, tx, k.Owner, k.Key)
		return err
	})
	return found, claimed, err
}

func (d *DB) getKey(ctx context.Context, tx *sql.Tx, owner, key string) (Key, error) {
	k := Key{Owner: owner, Key: key}
	var at int64
	var state, outcome string
	err := tx.QueryRowContext(ctx, `SELECT hash, turn_id, conversation_id, created_at, state, outcome FROM idempotency
		WHERE owner = $1 AND key = $2`, owner, d.sql.text(key)).Scan(&k.Hash, &k.TurnID, &k.ConversationID, &at, &state, &outcome)
	k.State, k.CreatedAt = KeyState(state), timeAt(at)
	if outcome != "" {
		k.Outcome = json.RawMessage(outcome)
	}
	return k, err
}

// SetKey replaces turn, conversation, state and outcome of a key that was claimed.
func (d *DB) SetKey(ctx context.Context, k Key) error {
	return d.write(ctx, "set idempotency key", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE idempotency SET turn_id = $3, conversation_id = $4, state = $5, outcome = $6
			WHERE owner = $1 AND key = $2`,
			k.Owner, d.sql.text(k.Key), k.TurnID, k.ConversationID, string(k.State), d.sql.text(string(k.Outcome)))
		return err
	})
}

// ReleaseKey forgets a key, so that the next request with it begins a turn.
func (d *DB) ReleaseKey(ctx context.Context, owner, key string) error {
	return d.write(ctx, "release idempotency key", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM idempotency WHERE owner = $1 AND key = $2`, owner, d.sql.text(key))
		return err
	})
}
