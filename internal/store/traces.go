package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"molar/internal/store/database"
)

// MaxTrace is the largest body of a trace, in bytes.
const MaxTrace = 64 << 10

// Trace is the record of one turn: why it did what it did.
type Trace struct {
	TurnID         string    `json:"turn_id"`
	ConversationID string    `json:"conversation_id"`
	Owner          string    `json:"owner,omitempty"`
	CreatedAt      time.Time `json:"created_at"`
	// Started is when the turn began; zero means CreatedAt. It is not stored.
	Started time.Time `json:"-"`
	// Size is the length of the body in bytes.
	Size int `json:"size"`
	// Listed is what lists of turns show of it.
	Listed Listed `json:"-"`
	// Body is the trace itself; lists leave it out.
	Body json.RawMessage `json:"body,omitempty"`
}

// The trace of a turn is not stored when its conversation was cleared or deleted since
// the turn began.
const putTrace = `INSERT INTO traces (turn_id, created_at, owner, conversation_id, size, body, outcome, assistant, question, tools, reason)
	SELECT CAST($1 AS TEXT), CAST($2 AS BIGINT), CAST($3 AS TEXT), CAST($4 AS TEXT), CAST($5 AS BIGINT), CAST($6 AS TEXT),
		CAST($8 AS TEXT), CAST($9 AS TEXT), CAST($10 AS TEXT), CAST($11 AS TEXT), CAST($12 AS TEXT)
	WHERE NOT EXISTS (SELECT 1 FROM erasures WHERE conversation_id = $4 AND owner IN ('', $3) AND at >= $7)
	ON CONFLICT (turn_id) DO UPDATE SET created_at = excluded.created_at, owner = excluded.owner,
		conversation_id = excluded.conversation_id, size = excluded.size, body = excluded.body, outcome = excluded.outcome,
		assistant = excluded.assistant, question = excluded.question, tools = excluded.tools, reason = excluded.reason`

// PutTraces stores traces in one transaction. A trace with the turn id of an
// earlier one replaces it. A zero CreatedAt means now. Of a conversation that was
// cleared or deleted since the turn started, nothing is stored.
func (s *State) PutTraces(ctx context.Context, traces []Trace) error {
	if len(traces) == 0 {
		return nil
	}
	return s.db.WriteRelaxed(ctx, "put traces", func(tx *sql.Tx) error {
		stmt, err := tx.PrepareContext(ctx, putTrace)
		if err != nil {
			return err
		}
		defer stmt.Close()
		for _, t := range traces {
			if len(t.Body) > MaxTrace {
				return fmt.Errorf("%w: the trace of turn %q has %d bytes, %d are allowed", database.ErrInvalid, t.TurnID, len(t.Body), MaxTrace)
			}
			at := t.CreatedAt
			if at.IsZero() {
				at = s.db.Now()
			}
			started := t.Started
			if started.IsZero() {
				started = at
			}
			_, err := stmt.ExecContext(ctx, append([]any{
				t.TurnID, database.Millis(at), t.Owner, t.ConversationID, len(t.Body),
				s.db.SQL.Text(string(t.Body)), database.Millis(started),
			}, s.listedColumns(t.Listed)...)...)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// GetTrace returns the trace of a turn; ok is false if there is none.
func (s *State) GetTrace(ctx context.Context, turnID string) (t Trace, ok bool, err error) {
	var at int64
	var body string
	err = s.db.Read.QueryRowContext(ctx, `SELECT turn_id, created_at, owner, conversation_id, size, body FROM traces
		WHERE turn_id = $1`, turnID).Scan(&t.TurnID, &at, &t.Owner, &t.ConversationID, &t.Size, &body)
	t.CreatedAt, t.Body = database.TimeAt(at), json.RawMessage(body)
	ok, err = s.db.Found("get trace", err)
	return t, ok, err
}

// ListTraces returns the newest traces, at most limit, without their bodies.
func (s *State) ListTraces(ctx context.Context, limit int) ([]Trace, error) {
	traces, err := database.List(ctx, s.db.Read, func(row *sql.Rows) (t Trace, err error) {
		var at int64
		err = row.Scan(&t.TurnID, &at, &t.Owner, &t.ConversationID, &t.Size)
		t.CreatedAt = database.TimeAt(at)
		return t, err
	}, `SELECT turn_id, created_at, owner, conversation_id, size FROM traces
		ORDER BY created_at DESC, turn_id LIMIT $1`, limit)
	return traces, s.db.Fault("list traces", err)
}

// PruneTraces deletes traces older than maxAge, then the oldest ones until the bodies together
// have at most maxBytes. It returns how many it deleted. Wire traffic, expired paused turns,
// answers under a key, hashes of answers and erasures go along.
func (s *State) PruneTraces(ctx context.Context, maxAge time.Duration, maxBytes int64) (deleted int64, err error) {
	if err := s.db.WriteRelaxed(ctx, "drop what expired", func(tx *sql.Tx) error { return s.dropExpired(ctx, tx) }); err != nil {
		return 0, err
	}
	now := s.db.Now()
	if _, err := s.prune(ctx, "wires", `expires <= $2`, now, maxWires); err != nil {
		return 0, err
	}
	return s.prune(ctx, "traces", `created_at < $2`, now.Add(-maxAge), maxBytes)
}

// pruneBatch is how many rows one transaction deletes.
const pruneBatch = 500

// prune deletes the rows of a table that expired by a time, and the oldest until the sizes
// together are at most maxBytes. It looks for them before it locks out other writers, and
// deletes a few at a time, so that no turn waits for it.
func (s *State) prune(ctx context.Context, table, expired string, at time.Time, maxBytes int64) (deleted int64, err error) {
	op := "prune " + table
	old, err := database.List(ctx, s.db.Read, func(row *sql.Rows) (id string, err error) {
		err = row.Scan(&id)
		return id, err
	}, `SELECT turn_id FROM `+table+` WHERE `+expired+` OR created_at <= (
			SELECT max(created_at) FROM (SELECT created_at, sum(size) OVER (ORDER BY created_at DESC) AS running FROM `+table+`) AS sums
			WHERE running > $1)`, maxBytes, database.Millis(at))
	if err != nil {
		return 0, s.db.Fault(op, err)
	}
	for batch := range slices.Chunk(old, pruneBatch) {
		err := s.db.WriteRelaxed(ctx, op, func(tx *sql.Tx) error {
			stmt, err := tx.PrepareContext(ctx, `DELETE FROM `+table+` WHERE turn_id = $1`) //nolint:gosec // our own tables
			if err != nil {
				return err
			}
			defer stmt.Close()
			for _, id := range batch {
				if _, err := stmt.ExecContext(ctx, id); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return deleted, err
		}
		deleted += int64(len(batch))
	}
	return deleted, nil
}

func (s *State) dropExpired(ctx context.Context, tx *sql.Tx) error {
	if _, err := tx.ExecContext(ctx, `DELETE FROM kept_turns WHERE expires <= $1`, database.Millis(s.db.Now())); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, `DELETE FROM idempotency WHERE created_at < $1`, database.Millis(s.db.Now().Add(-KeyAge))); err != nil {
		return err
	}
	if _, err := dropAnswersIn(ctx, tx, s.db.Now()); err != nil {
		return err
	}
	return dropErasures(ctx, tx, s.db.Now())
}
