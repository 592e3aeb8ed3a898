package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"time"

	"molar/internal/store/database"
	"molar/schemas"
)

const (
	// leaseKept is how long a lease that was never released is remembered if its conversation was
	// never created.
	leaseKept = 24 * time.Hour
	// leaseSweep is how many begun turns pass between two clean-ups.
	leaseSweep = 1024
)

// lease takes the lease of a conversation, or fails if it is held. A turn whose lease expired
// is interrupted by that.
func (d *DB) lease(ctx context.Context, op string, req TurnRequest, id string, parent *tip) (owner string, l schemas.Lease, _ error) {
	l = schemas.Lease{ConversationID: id, Token: rand.Text()}
	var from sql.NullInt64
	if parent != nil {
		from = sql.NullInt64{Int64: parent.seq, Valid: true}
	}
	args := func() []any {
		return []any{d.db.Clock(), id, req.Owner, l.Token, req.TTL.Milliseconds(), from}
	}
	take := func(ctx context.Context, stmt *sql.Stmt) error {
		var expires int64
		err := stmt.QueryRowContext(ctx, args()...).Scan(&owner, &l.Fence, &expires)
		l.Expires = database.TimeAt(expires)
		return err
	}
	held, err := d.takeFree(ctx, op, take)
	if err != nil || !held {
		return owner, l, err
	}
	err = d.db.WriteRelaxed(ctx, op, func(tx *sql.Tx) error {
		err := d.takeOver(ctx, tx, req.Owner, id)
		if err == nil {
			err = take(ctx, tx.StmtContext(ctx, d.stmts.recording[takeLease]))
		}
		if errors.Is(err, sql.ErrNoRows) { // on PostgreSQL another turn may have been faster
			return &BusyError{Left: req.TTL}
		}
		return err
	})
	return owner, l, err
}

// takeFree takes a lease, unless it is held or has a turn under it.
func (d *DB) takeFree(ctx context.Context, op string, take func(context.Context, *sql.Stmt) error) (held bool, err error) {
	sweep := d.begun.Add(1)%leaseSweep == 0
	if d.db.Writing == nil && !sweep { // a single statement is a transaction
		err = take(ctx, d.stmts.recording[takeLease])
		held = errors.Is(err, sql.ErrNoRows)
		if held {
			err = nil
		}
		return held, d.db.Fault(op, err)
	}
	err = d.apply(ctx, op, false, func(ctx context.Context, tx turnTx) error {
		if sweep {
			if err := d.sweepLeases(ctx, tx.Tx); err != nil {
				return err
			}
		}
		err := take(ctx, tx.stmt(ctx, takeLease))
		if held = errors.Is(err, sql.ErrNoRows); held {
			return nil
		}
		return err
	})
	return held, err
}

// takeOver interrupts the turn under an expired lease. A valid lease is a [*BusyError].
func (d *DB) takeOver(ctx context.Context, tx *sql.Tx, owner, id string) error {
	var left int64
	var turnID string
	err := tx.QueryRowContext(ctx, d.db.SQL.Say(`SELECT owner, expires - NOW(), turn_id FROM leases
		WHERE id = $2 AND owner = coalesce((SELECT owner FROM conversations
			WHERE id = $2 AND ($3 = '' OR owner = $3) ORDER BY owner LIMIT 1), $3)`)+d.db.SQL.ForUpdate,
		d.db.Clock(), id, owner).Scan(&owner, &left, &turnID)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil // released and deleted meanwhile
	case err != nil:
		return err
	case left > 0:
		return &BusyError{Left: time.Duration(left) * time.Millisecond}
	}
	if err := interruptTurn(ctx, tx, turnID); err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `UPDATE leases SET turn_id = '' WHERE id = $1 AND owner = $2`, id, owner)
	return err
}

// interruptTurn ends a turn whose process has died, and that the release before this one recorded
// under its lease. Its recorded parts stay.
func interruptTurn(ctx context.Context, tx *sql.Tx, turnID string) error {
	if turnID == "" {
		return nil
	}
	if _, err := tx.ExecContext(ctx, `UPDATE messages SET status = 'interrupted' WHERE status = 'running' AND
		conversation = (SELECT conversation FROM turns WHERE turn_id = $1) AND
		seq = (SELECT answer_seq FROM turns WHERE turn_id = $1)`, turnID); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, `UPDATE turns SET status = 'interrupted' WHERE turn_id = $1 AND status = 'running'`, turnID)
	return err
}

// orphans selects the turns whose lease is no longer held; $1 is the current time.
const orphans = `SELECT t.turn_id FROM turns t JOIN conversations c ON c.num = t.conversation
	WHERE t.status = 'running' AND NOT EXISTS (SELECT 1 FROM leases l
		WHERE l.id = c.id AND l.owner = c.owner AND l.turn_id = t.turn_id AND l.expires > NOW())`

// reap interrupts every turn that the release before this one recorded and whose lease is no longer
// held.
func (d *DB) reap(ctx context.Context, tx *sql.Tx) error {
	gone, err := database.List(ctx, tx, database.One[string], d.db.SQL.Say(orphans), d.db.Clock())
	if err != nil {
		return err
	}
	for _, id := range gone {
		if err := interruptTurn(ctx, tx, id); err != nil {
			return err
		}
		d.db.Log.Info("a turn whose process is gone is kept as interrupted", "turn", id)
	}
	return nil
}

// sweepLeases deletes old leases on conversations that do not exist, which turns left whose
// process ended before their question was recorded.
func (d *DB) sweepLeases(ctx context.Context, tx *sql.Tx) error {
	_, err := tx.ExecContext(ctx, d.db.SQL.Say(`DELETE FROM leases WHERE expires > 0 AND expires < NOW() - $2 AND NOT EXISTS (
		SELECT 1 FROM conversations c WHERE c.id = leases.id AND c.owner = leases.owner)`),
		d.db.Clock(), leaseKept.Milliseconds())
	return err
}

// RenewLease moves the end of a lease to now plus ttl. It fails with [ErrStaleLease] if a later turn
// began.
func (d *DB) RenewLease(ctx context.Context, l schemas.Lease, ttl time.Duration) (schemas.Lease, error) {
	err := d.db.WriteRelaxed(ctx, "renew lease", func(tx *sql.Tx) error {
		var expires int64
		err := tx.QueryRowContext(ctx, d.db.SQL.Say(`UPDATE leases SET expires = NOW() + $2 WHERE id = $3 AND token = $4 AND fence = $5
			RETURNING expires`), d.db.Clock(), ttl.Milliseconds(), l.ConversationID, l.Token, l.Fence).Scan(&expires)
		if errors.Is(err, sql.ErrNoRows) {
			return ErrStaleLease
		}
		l.Expires = database.TimeAt(expires)
		return err
	})
	return l, err
}

// turnUnder returns the turn that was recorded under a lease, and locks the lease until the
// transaction ends. A lease that another turn has taken is [ErrStaleLease].
func (d *DB) turnUnder(ctx context.Context, tx *sql.Tx, l schemas.Lease) (turnID string, err error) {
	err = tx.QueryRowContext(ctx, `SELECT turn_id FROM leases WHERE id = $1 AND token = $2 AND fence = $3`+d.db.SQL.ForUpdate,
		l.ConversationID, l.Token, l.Fence).Scan(&turnID)
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrStaleLease
	}
	return turnID, err
}

// EndTurn releases a lease without a saved turn. A lease that another turn has taken is not an error.
func (d *DB) EndTurn(ctx context.Context, l schemas.Lease) error {
	return d.db.WriteRelaxed(ctx, "end turn", func(tx *sql.Tx) error {
		turnID, err := d.turnUnder(ctx, tx, l)
		if errors.Is(err, ErrStaleLease) {
			return nil
		}
		if err == nil {
			err = interruptTurn(ctx, tx, turnID)
		}
		if err == nil {
			_, err = tx.StmtContext(ctx, d.stmts.recording[endLease]).ExecContext(ctx, l.ConversationID, l.Token, l.Fence)
		}
		if err == nil { // of a refused turn nothing stays
			_, err = tx.StmtContext(ctx, d.stmts.recording[dropLease]).ExecContext(ctx, l.ConversationID)
		}
		return err
	})
}
