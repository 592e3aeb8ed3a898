package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"molar/internal/store/database"
	"molar/schemas"
)

// PutEvent stores an event for the webhook.
func (s *State) PutEvent(ctx context.Context, e schemas.WebhookEvent) error {
	_, err := s.db.Exec(ctx, "keep an event", `INSERT INTO webhook_events (id, owner, body, created_at, next_at) VALUES ($1, $2, $3, $4, $5)`,
		e.ID, e.Owner, s.db.SQL.Text(string(e.Body)), database.Millis(e.Created), database.Millis(e.Next))
	return err
}

// DueEvents returns up to limit events that are to be tried by now, the longest due first.
func (s *State) DueEvents(ctx context.Context, now time.Time, limit int) ([]schemas.WebhookEvent, error) {
	all, err := database.List(ctx, s.db.Read, func(row *sql.Rows) (e schemas.WebhookEvent, err error) {
		var body string
		var created, next int64
		err = row.Scan(&e.ID, &e.Owner, &body, &created, &next)
		e.Body, e.Created, e.Next = json.RawMessage(body), database.TimeAt(created), database.TimeAt(next)
		return e, err
	}, `SELECT id, owner, body, created_at, next_at FROM webhook_events WHERE next_at <= $1 ORDER BY next_at LIMIT $2`, database.Millis(now), limit)
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
