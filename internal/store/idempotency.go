package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"molar/internal/store/database"
	"molar/schemas"
)

// KeyAge is how long an Idempotency-Key is remembered.
const KeyAge = 24 * time.Hour

// States of a key's turn: it began, a tool may have had its effect, it ended.
const keyOpen, keyActed, keyEnded = "open", "acted", "ended"

func stateOf(k schemas.KeyRecord) string {
	switch {
	case len(k.Outcome) > 0:
		return keyEnded
	case k.Acted:
		return keyActed
	}
	return keyOpen
}

// ClaimKey stores a key that is unknown, or older than [KeyAge], as one whose turn began. For
// a known one it returns the stored record, and false.
func (s *State) ClaimKey(ctx context.Context, k schemas.KeyRecord) (found schemas.KeyRecord, claimed bool, err error) {
	now := s.db.Now()
	err = s.db.Write(ctx, "claim idempotency key", func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `DELETE FROM idempotency WHERE created_at < $1`, database.Millis(now.Add(-KeyAge))); err != nil {
			return err
		}
		n, err := database.Changed(tx.ExecContext(ctx, `INSERT INTO idempotency
			(owner, key, hash, turn_id, conversation_id, created_at, state, outcome) VALUES ($1, $2, $3, $4, $5, $6, $7, '')
			ON CONFLICT (owner, key) DO NOTHING`,
			k.Owner, s.db.SQL.Text(k.Key), k.Hash, k.TurnID, k.ConversationID, database.Millis(now), keyOpen))
		if claimed = n == 1; claimed || err != nil {
			return err
		}
		found, err = s.getKey(ctx, tx, k.Owner, k.Key)
		return err
	})
	return found, claimed, err
}

func (s *State) getKey(ctx context.Context, tx *sql.Tx, owner, key string) (schemas.KeyRecord, error) {
	k := schemas.KeyRecord{Owner: owner, Key: key}
	var at int64
	var state, outcome string
	err := tx.QueryRowContext(ctx, `SELECT hash, turn_id, conversation_id, created_at, state, outcome FROM idempotency
		WHERE owner = $1 AND key = $2`, owner, s.db.SQL.Text(key)).Scan(&k.Hash, &k.TurnID, &k.ConversationID, &at, &state, &outcome)
	k.Acted, k.CreatedAt = state == keyActed, database.TimeAt(at)
	if outcome != "" {
		k.Outcome = json.RawMessage(outcome)
	}
	return k, err
}

// TakeKey moves a key whose turn is dead, and whose tools did not run, to another turn. It
// reports whether the key still belonged to the turn before.
func (s *State) TakeKey(ctx context.Context, k schemas.KeyRecord, before string) (taken bool, err error) {
	n, err := s.db.Exec(ctx, "take over idempotency key", `UPDATE idempotency SET turn_id = $3, conversation_id = $4
		WHERE owner = $1 AND key = $2 AND turn_id = $5 AND state = $6`,
		k.Owner, s.db.SQL.Text(k.Key), k.TurnID, k.ConversationID, before, keyOpen)
	return n == 1, err
}

// ErrKeyTaken is the error of a turn whose key another turn has taken.
var ErrKeyTaken = errors.New("the key belongs to another turn")

// SetKey replaces conversation, state and outcome of a key that the turn claimed or took, or
// fails with [ErrKeyTaken].
func (s *State) SetKey(ctx context.Context, k schemas.KeyRecord) error {
	return s.db.Write(ctx, "set idempotency key", func(tx *sql.Tx) error {
		n, err := database.Changed(tx.ExecContext(ctx, `UPDATE idempotency SET conversation_id = $4, state = $5, outcome = $6
			WHERE owner = $1 AND key = $2 AND turn_id = $3`,
			k.Owner, s.db.SQL.Text(k.Key), k.TurnID, k.ConversationID, stateOf(k), s.db.SQL.Text(string(k.Outcome))))
		if err != nil || n > 0 {
			return err
		}
		var others int
		err = tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM idempotency WHERE owner = $1 AND key = $2`, k.Owner, s.db.SQL.Text(k.Key)).Scan(&others)
		if err == nil && others > 0 {
			err = ErrKeyTaken
		}
		return err // a key deleted with its conversation is not an error
	})
}

// ReleaseKey deletes a key of a turn, so that the next request with it starts a turn.
func (s *State) ReleaseKey(ctx context.Context, owner, key, turnID string) error {
	_, err := s.db.Exec(ctx, "release idempotency key", `DELETE FROM idempotency WHERE owner = $1 AND key = $2 AND turn_id = $3`,
		owner, s.db.SQL.Text(key), turnID)
	return err
}
