package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
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
	err = d.stmts.takeLease.QueryRowContext(context.WithoutCancel(ctx), l.ConversationID, req.Owner, l.Token, millis(l.Expires)).Scan(&owner, &l.Fence)
	return owner, l, err
}

// sweepLeases forgets old leases on conversations that do not exist: refused
// turns leave one each.
func (d *DB) sweepLeases(ctx context.Context) error {
	_, err := d.relaxed.ExecContext(ctx, `DELETE FROM leases WHERE expires < ? AND NOT EXISTS (
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
	where := `c.id = ?2 AND (?3 = '' OR c.owner = ?3)`
	if req.AnyConversation {
		where = `?2 = ?2 AND c.owner = ?3`
	}
	row := d.read.QueryRowContext(ctx, `SELECT c.id, c.owner, t.turn_id, t.saved_at, m.content, m.sources, m.status
		FROM turns t JOIN conversations c ON c.num = t.conversation
		JOIN messages m ON m.conversation = t.conversation AND m.seq = t.answer_seq
		WHERE t.key = ?1 AND `+where+` ORDER BY c.owner, t.saved_at DESC LIMIT 1`, req.Key, req.ConversationID, req.Owner)
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
		res, err := tx.ExecContext(ctx, `UPDATE leases SET expires = ? WHERE id = ? AND token = ? AND fence = ?`,
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

// SaveTurn saves message and answer in one transaction that is on the disk when
// it returns. The same turn id, or the same key in the conversation, saves once
// and then returns what was saved. A lease that was overtaken is refused with
// [ErrStaleLease]; one that merely expired is good.
func (d *DB) SaveTurn(ctx context.Context, t Turn) (SavedTurn, error) {
	var saved SavedTurn
	servers, sources, err := turnLists(t)
	if err != nil {
		return saved, d.fault("save turn", err)
	}
	err = d.write(ctx, "save turn", func(tx *sql.Tx) error {
		owner, earlier, err := d.admit(ctx, tx, t)
		if err != nil || earlier != nil {
			if earlier != nil {
				saved = *earlier
			}
			return err
		}
		saved = SavedTurn{TurnID: t.TurnID, SavedAt: timeAt(millis(d.now()))}
		return d.insertTurn(ctx, tx, owner, t, millis(saved.SavedAt), servers, sources)
	})
	return saved, err
}

func turnLists(t Turn) (servers, sources string, err error) {
	read := t.ServersRead
	if read == nil {
		read = []string{}
	}
	serversJSON, err := json.Marshal(read)
	if err != nil {
		return "", "", err
	}
	if len(t.Sources) == 0 {
		return string(serversJSON), "", nil
	}
	sourcesJSON, err := json.Marshal(t.Sources)
	return string(serversJSON), string(sourcesJSON), err
}

// admit checks whether the turn was saved before, and else whether its lease
// still allows it to be.
func (d *DB) admit(ctx context.Context, tx *sql.Tx, t Turn) (owner string, earlier *SavedTurn, err error) {
	id := t.Lease.ConversationID
	earlier, err = scanSaved(tx.StmtContext(ctx, d.stmts.findTurn).QueryRowContext(ctx, t.TurnID), id)
	if earlier != nil || err != nil {
		return "", earlier, err
	}
	err = tx.StmtContext(ctx, d.stmts.checkLease).QueryRowContext(ctx, id, t.Lease.Token, t.Lease.Fence).Scan(&owner)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil, ErrStaleLease
	}
	if err != nil || t.Key == "" {
		return owner, nil, err
	}
	earlier, err = scanSaved(tx.StmtContext(ctx, d.stmts.findTurnByKey).QueryRowContext(ctx, id, owner, t.Key), id)
	return owner, earlier, err
}

func scanSaved(row *sql.Row, conversationID string) (*SavedTurn, error) {
	var saved SavedTurn
	var at int64
	var id string
	err := row.Scan(&saved.TurnID, &at, &id)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil //nolint:nilnil // not saved yet
	case err != nil:
		return nil, err
	case id != conversationID:
		return nil, fmt.Errorf("%w: turn %q belongs to another conversation", ErrConflict, saved.TurnID)
	}
	saved.SavedAt = timeAt(at)
	return &saved, nil
}

func (d *DB) insertTurn(ctx context.Context, tx *sql.Tx, owner string, t Turn, now int64, servers, sources string) error {
	complete := t.Status != schemas.StatusInterrupted
	var num, last int64
	err := tx.StmtContext(ctx, d.stmts.growByTurn).QueryRowContext(ctx, owner, t.Lease.ConversationID,
		titleOf(t.User), t.Language, servers, complete, now).Scan(&num, &last)
	if err != nil {
		return err
	}
	message := tx.StmtContext(ctx, d.stmts.insertMessage)
	_, err = message.ExecContext(ctx, num, last-1, string(schemas.RoleUser), t.User, now, t.TurnID, "", "", "")
	if err != nil {
		return err
	}
	_, err = message.ExecContext(ctx, num, last, string(schemas.RoleAssistant), t.Answer, now, t.TurnID,
		t.Status, sources, string(t.Calls))
	if err != nil {
		return err
	}
	_, err = tx.StmtContext(ctx, d.stmts.insertTurn).ExecContext(ctx, t.TurnID, num, t.Key, last, now)
	return err
}
