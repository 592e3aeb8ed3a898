package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// MaxTrace is the largest body of a trace, in bytes.
const MaxTrace = 64 << 10

// Trace is the record of one turn: why it did what it did.
type Trace struct {
	TurnID         string    `json:"turn_id"`
	ConversationID string    `json:"conversation_id"`
	Owner          string    `json:"owner,omitempty"`
	CreatedAt      time.Time `json:"created_at"`
	// Size is the length of the body in bytes.
	Size int `json:"size"`
	// Body is the trace itself; lists leave it out.
	Body json.RawMessage `json:"body,omitempty"`
}

// PutTraces stores traces in one transaction. A trace with the turn id of an
// earlier one replaces it. A zero CreatedAt means now.
func (d *DB) PutTraces(ctx context.Context, traces []Trace) error {
	if len(traces) == 0 {
		return nil
	}
	return d.transact(ctx, d.relaxed, "put traces", func(tx *sql.Tx) error {
		stmt, err := tx.PrepareContext(ctx, `INSERT INTO traces
			(turn_id, created_at, owner, conversation_id, size, body) VALUES ($1, $2, $3, $4, $5, $6)
			ON CONFLICT (turn_id) DO UPDATE SET created_at = excluded.created_at, owner = excluded.owner,
				conversation_id = excluded.conversation_id, size = excluded.size, body = excluded.body`)
		if err != nil {
			return err
		}
		defer stmt.Close()
		for _, t := range traces {
			if len(t.Body) > MaxTrace {
				return fmt.Errorf("%w: the trace of turn %q has %d bytes, %d are allowed", ErrInvalid, t.TurnID, len(t.Body), MaxTrace)
			}
			at := t.CreatedAt
			if at.IsZero() {
				at = d.now()
			}
			if _, err := stmt.ExecContext(ctx, t.TurnID, millis(at), t.Owner, t.ConversationID, len(t.Body), d.sql.text(string(t.Body))); err != nil {
				return err
			}
		}
		return nil
	})
}

// GetTrace returns the trace of a turn; ok is false when there is none.
func (d *DB) GetTrace(ctx context.Context, turnID string) (t Trace, ok bool, err error) {
	var at int64
	var body string
	err = d.read.QueryRowContext(ctx, `SELECT turn_id, created_at, owner, conversation_id, size, body FROM traces
		WHERE turn_id = $1`, turnID).Scan(&t.TurnID, &at, &t.Owner, &t.ConversationID, &t.Size, &body)
	if errors.Is(err, sql.ErrNoRows) {
		return Trace{}, false, nil
	}
	t.CreatedAt, t.Body = timeAt(at), json.RawMessage(body)
	return t, err == nil, d.fault("get trace", err)
}

// ListTraces returns the newest traces, at most limit, without their bodies.
func (d *DB) ListTraces(ctx context.Context, limit int) ([]Trace, error) {
	const op = "list traces"
	rows, err := d.read.QueryContext(ctx, `SELECT turn_id, created_at, owner, conversation_id, size FROM traces
		ORDER BY created_at DESC, turn_id LIMIT $1`, limit)
	if err != nil {
		return nil, d.fault(op, err)
	}
	defer rows.Close()
	traces := []Trace{}
	for rows.Next() {
		var t Trace
		var at int64
		if err := rows.Scan(&t.TurnID, &at, &t.Owner, &t.ConversationID, &t.Size); err != nil {
			return nil, d.fault(op, err)
		}
		t.CreatedAt = timeAt(at)
		traces = append(traces, t)
	}
	return traces, d.fault(op, rows.Err())
}

// PruneTraces deletes traces older than maxAge, then the oldest ones until the
// bodies together have at most maxBytes. It returns how many it deleted.
func (d *DB) PruneTraces(ctx context.Context, maxAge time.Duration, maxBytes int64) (deleted int64, err error) {
	oldest := millis(d.now().Add(-maxAge))
	err = d.transact(ctx, d.relaxed, "prune traces", func(tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, `DELETE FROM traces WHERE created_at < $1 OR created_at <= (
			SELECT max(created_at) FROM (
				SELECT created_at, sum(size) OVER (ORDER BY created_at DESC, turn_id) AS running FROM traces) AS sums
			WHERE running > $2)`, oldest, maxBytes)
		if err != nil {
			return err
		}
		deleted, err = res.RowsAffected()
		return err
	})
	return deleted, err
}
