package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"molar/internal/store/database"
	"molar/schemas"
)

// PutEvent stores an event for its webhook.
func (s *State) PutEvent(ctx context.Context, e schemas.WebhookEvent) error {
	return s.db.Write(ctx, "keep an event", func(tx *sql.Tx) error { return s.putEventIn(ctx, tx, e) })
}

func (s *State) putEventIn(ctx context.Context, tx *sql.Tx, e schemas.WebhookEvent) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO webhook_events (id, hook, owner, body, created_at, next_at) VALUES ($1, $2, $3, $4, $5, $6)`,
		e.ID, e.Hook, e.Owner, s.db.SQL.Text(string(e.Body)), database.Millis(e.Created), database.Millis(e.Next))
	return err
}

// DueEvents returns up to limit events for a webhook that are to be tried by now, the longest due first.
func (s *State) DueEvents(ctx context.Context, hook string, now time.Time, limit int) ([]schemas.WebhookEvent, error) {
	all, err := database.List(ctx, s.db.Read, func(row *sql.Rows) (e schemas.WebhookEvent, err error) {
		var body string
		var created, next int64
		err = row.Scan(&e.ID, &e.Hook, &e.Owner, &body, &created, &next)
		e.Body, e.Created, e.Next = json.RawMessage(body), database.TimeAt(created), database.TimeAt(next)
		return e, err
	}, `SELECT id, hook, owner, body, created_at, next_at FROM webhook_events WHERE hook = $1 AND next_at <= $2 ORDER BY next_at LIMIT $3`,
		hook, database.Millis(now), limit)
	return all, s.db.Fault("read the events", err)
}

// MoveEvent sets when an event is tried next; ok is false if its time is not the one before any more.
func (s *State) MoveEvent(ctx context.Context, id string, from, to time.Time) (ok bool, err error) {
	n, err := s.db.Exec(ctx, "move an event", `UPDATE webhook_events SET next_at = $3 WHERE id = $1 AND next_at = $2`, id, database.Millis(from), database.Millis(to))
	return n == 1, err
}

// DropEvent deletes an event.
func (s *State) DropEvent(ctx context.Context, id string) error {
	_, err := s.db.Exec(ctx, "drop an event", `DELETE FROM webhook_events WHERE id = $1`, id)
	return err
}
