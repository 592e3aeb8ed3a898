package store

import (
	"context"
	"database/sql"
	"time"

	"molar/internal/store/database"
)

// erasureKept is how long an erasure is remembered: longer than any turn runs.
const erasureKept = 24 * time.Hour

// dropErasures deletes the erasures that no turn can have outlived.
func dropErasures(ctx context.Context, tx *sql.Tx, now time.Time) error {
	_, err := tx.ExecContext(ctx, `DELETE FROM erasures WHERE at < $1`, database.Millis(now.Add(-erasureKept)))
	return err
}

// forgetIn deletes the host's own data of an owner's conversation, as a part of its deletion,
// and records the erasure for the traces of running turns.
func forgetIn(ctx context.Context, tx *sql.Tx, now time.Time, owner, id string) error {
	_, err := forget(ctx, tx, now, owner, id, `owner = $2`)
	return err
}

// ForgetConversation deletes the host's own data of an owner's conversation; an empty owner
// means every owner's. It is for a host whose conversations are stored elsewhere. No text
// stays in SQLite's files.
func (s *State) ForgetConversation(ctx context.Context, owner, id string) error {
	deleted := int64(0)
	err := s.db.Write(ctx, "forget conversation", func(tx *sql.Tx) (err error) {
		now := s.db.Now()
		if err := dropErasures(ctx, tx, now); err != nil {
			return err
		}
		deleted, err = forget(ctx, tx, now, owner, id, `($2 = '' OR owner = $2)`)
		return err
	})
	if err == nil && deleted > 0 {
		s.db.ScrubLog(ctx)
	}
	return err
}

// tablesOfHost returns the tables of the host's own data that belong to a conversation and an owner.
func tablesOfHost() []string {
	return []string{"traces", "wires", "feedback", "reviews", "idempotency", "kept_turns", "kept_results", "responses", "live_turns", "grants", "standing_grants", "handovers"}
}

// forget returns how many rows it deleted. whose is a condition on the owner, $2.
func forget(ctx context.Context, tx *sql.Tx, now time.Time, owner, id, whose string) (deleted int64, err error) {
	_, err = tx.ExecContext(ctx, `INSERT INTO erasures (conversation_id, owner, at) VALUES ($1, $2, $3)
		ON CONFLICT (conversation_id, owner) DO UPDATE SET at = excluded.at`, id, owner, database.Millis(now))
	if err != nil {
		return 0, err
	}
	for _, table := range tablesOfHost() {
		n, err := database.Changed(tx.ExecContext(ctx, `DELETE FROM `+table+` WHERE conversation_id = $1 AND `+whose, id, owner))
		if err != nil {
			return 0, err
		}
		deleted += n
	}
	return deleted, nil
}
