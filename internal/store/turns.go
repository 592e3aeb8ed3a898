package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"molar/schemas"
)

const (
	// leaseKept is how long after its end a lease on a conversation that never came
	// into being is remembered.
	leaseKept = 24 * time.Hour
	// leaseSweep is how many begun turns pass between two clean-ups.
	leaseSweep = 1024
)

// BeginTurn takes the lease and reads what the turn needs to know. It writes
// nothing else. The lease comes first: whatever is saved under an earlier one is
// either seen by this turn or refused.
func (d *DB) BeginTurn(ctx context.Context, req TurnRequest) (TurnStart, error) {
	const op = "begin turn"
	start := TurnStart{ConversationID: req.ConversationID}
	var owner string
	finished, err := d.finishedTurn(ctx, req)
	if err != nil {
		return start, d.fault(op, err)
	}
	if finished != nil {
		start.ConversationID, owner, start.Finished = finished.conversation, finished.owner, &finished.turn
	} else if owner, start.Lease, err = d.lease(ctx, req); err != nil {
		return start, d.fault(op, err)
	}
	return start, d.fault(op, d.readContext(ctx, owner, &start))
}

// readContext fills in what is known of the conversation.
func (d *DB) readContext(ctx context.Context, owner string, start *TurnStart) error {
	start.Messages, start.ServersRead = []schemas.StoredMessage{}, []string{}
	c, err := d.find(ctx, owner, start.ConversationID)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	start.Known, start.Summary, start.Covers = true, c.summary, c.covers
	if c.serversRead != "[]" {
		if err := json.Unmarshal([]byte(c.serversRead), &start.ServersRead); err != nil {
			return err
		}
	}
	if c.covers == c.lastSeq {
		start.Recent, err = d.messagesAfter(ctx, c.num, c.lastSeq-2)
		return err
	}
	start.Messages, err = d.messagesAfter(ctx, c.num, c.covers)
	return err
}

func (d *DB) lease(ctx context.Context, req TurnRequest) (owner string, l schemas.Lease, err error) {
	l = schemas.Lease{
		ConversationID: req.ConversationID,
		Token:          rand.Text(),
		Expires:        timeAt(millis(d.now().Add(req.TTL))),
	}
	unlock, err := d.lock(ctx)
	if err != nil {
		return "", l, err
	}
	defer unlock()
	if d.begun.Add(1)%leaseSweep == 0 {
		if err := d.sweepLeases(ctx); err != nil {
			return "", l, err
		}
	}
	err = d.stmts.takeLease.QueryRowContext(d.short(ctx), l.ConversationID, req.Owner, l.Token, millis(l.Expires)).Scan(&owner, &l.Fence)
	return owner, l, err
}

// sweepLeases forgets old leases on conversations that do not exist: refused
// turns leave one each.
func (d *DB) sweepLeases(ctx context.Context) error {
	_, err := d.relaxed.ExecContext(ctx, `DELETE FROM leases WHERE expires < $1 AND NOT EXISTS (
		SELECT 1 FROM conversations c WHERE c.id = leases.id AND c.owner = leases.owner)`,
		millis(d.now().Add(-leaseKept)))
	return err
}

// keyedTurn is a finished turn and where it was found.
type keyedTurn struct {
	conversation, owner string
	turn                FinishedTurn
}

// finishedTurn looks for the turn that was saved under the key; nil means none.
func (d *DB) finishedTurn(ctx context.Context, req TurnRequest) (*keyedTurn, error) {
	if req.Key == "" {
		return nil, nil //nolint:nilnil // no key, no turn
	}
	// With an id, the conversation is the one that the id means to this owner; without one, the
	// key must be the owner's own.
	where, args := `c.id = $2 AND ($3 = '' OR c.owner = $3)`, []any{req.Key, req.ConversationID, req.Owner}
	if req.AnyConversation {
		where, args = `c.owner = $2`, []any{req.Key, req.Owner}
	}
	//nolint:gosec // both texts are constants of this function
	row := d.read.QueryRowContext(ctx, `SELECT c.id, c.owner, t.turn_id, t.saved_at, m.content, m.sources, m.status
		FROM turns t JOIN conversations c ON c.num = t.conversation
		JOIN messages m ON m.conversation = t.conversation AND m.seq = t.answer_seq
		WHERE t.key = $1 AND `+where+` ORDER BY c.owner, t.saved_at DESC LIMIT 1`, args...)
	var found keyedTurn
	var saved int64
	var sources string
	t := &found.turn
	err := row.Scan(&found.conversation, &found.owner, &t.TurnID, &saved, &t.Answer, &sources, &t.Status)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil //nolint:nilnil // no such turn
	}
	if err != nil {
		return nil, err
	}
	t.SavedAt, t.Sources = timeAt(saved), []schemas.Source{}
	if sources != "" {
		err = json.Unmarshal([]byte(sources), &t.Sources)
	}
	return &found, err
}

// RenewLease moves the end of a lease to now plus ttl. It is refused with
// [ErrStaleLease] when a later turn began.
func (d *DB) RenewLease(ctx context.Context, l schemas.Lease, ttl time.Duration) (schemas.Lease, error) {
	l.Expires = timeAt(millis(d.now().Add(ttl)))
	err := d.transact(ctx, d.relaxed, "renew lease", func(tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, `UPDATE leases SET expires = $1 WHERE id = $2 AND token = $3 AND fence = $4`,
			millis(l.Expires), l.ConversationID, l.Token, l.Fence)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n == 1 {
			return err
		}
		return ErrStaleLease
	})
	return l, err
}
