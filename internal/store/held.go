package store

import (
	"context"
	"database/sql"
	"encoding/json"

	"molar/internal/store/database"
	"molar/schemas"
)

// HeldTurns returns what is kept under ids with the prefix, of all owners, the first to expire first.
func (s *State) HeldTurns(ctx context.Context, prefix string) ([]schemas.PauseRecord, error) {
	all, err := database.List(ctx, s.db.Read, func(row *sql.Rows) (k schemas.PauseRecord, err error) {
		var id, state string
		var expires int64
		err = row.Scan(&k.Owner, &id, &k.ConversationID, &expires, &state)
		k.CallIDs, k.State, k.Expires = []string{id}, json.RawMessage(state), database.TimeAt(expires)
		return k, err
	}, `SELECT owner, call_id, conversation_id, expires, state FROM kept_turns WHERE substr(call_id, 1, $1) = $2 AND expires > $3 ORDER BY expires, call_id`,
		len(prefix), prefix, database.Millis(s.db.Now()))
	return all, s.db.Fault("list held calls", err)
}

// ReplaceKeptTurn replaces the kept state of an owner's turn; ok is false if it is not the one before any
// more.
func (s *State) ReplaceKeptTurn(ctx context.Context, owner, callID string, before, after json.RawMessage) (ok bool, err error) {
	err = s.db.Write(ctx, "replace kept turn", func(tx *sql.Tx) error {
		n, err := database.Changed(tx.ExecContext(ctx, `UPDATE kept_turns SET state = $4 WHERE owner = $1 AND call_id = $2 AND state = $3 AND expires > $5`,
			owner, callID, s.db.SQL.Text(string(before)), s.db.SQL.Text(string(after)), database.Millis(s.db.Now())))
		ok = n == 1
		return err
	})
	return ok, err
}
