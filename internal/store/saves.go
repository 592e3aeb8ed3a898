package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"molar/internal/store/database"
	"molar/schemas"
)

const opSave = "save turn"

// SaveTurn saves message and answer in one transaction that is on the disk when it returns,
// and releases the lease. The same turn id, or the same key in the conversation, saves once
// and then returns the saved turn; only an interrupted one is replaced by a complete one, in its
// place, even if its lease was taken over. A turn that is not there then fails with
// [ErrStaleLease]. A lease that merely expired is valid.
func (d *DB) SaveTurn(ctx context.Context, t Turn) (SavedTurn, error) {
	servers, sources, err := turnLists(t)
	if err != nil {
		return SavedTurn{}, d.db.Fault(opSave, err)
	}
	var saved SavedTurn
	err = d.apply(ctx, opSave, true, func(ctx context.Context, tx turnTx) (err error) {
		saved, err = d.saveIn(ctx, tx, saving{t, servers, sources})
		return err
	})
	if err != nil {
		return SavedTurn{}, err
	}
	return saved, nil
}

// saving is a turn with its lists as they are stored.
type saving struct {
	Turn
	servers, sources string
}

func (d *DB) saveIn(ctx context.Context, tx turnTx, t saving) (SavedTurn, error) {
	row, saved, err := d.admit(ctx, tx, t.Turn)
	if err != nil {
		return SavedTurn{}, err
	}
	if saved {
		return SavedTurn{TurnID: row.id, SavedAt: database.TimeAt(row.saved)}, nil
	}
	row.saved = database.Millis(d.db.Now())
	return SavedTurn{TurnID: t.TurnID, SavedAt: database.TimeAt(row.saved)}, d.finishTurn(ctx, tx, row, t)
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

// admit returns the place of the turn, which it creates if the turn was not recorded, and
// reports whether the turn was saved before. It releases the lease; on PostgreSQL that is
// where two savers of one turn wait for each other.
func (d *DB) admit(ctx context.Context, tx turnTx, t Turn) (row *turnRow, saved bool, err error) {
	id := t.Lease.ConversationID
	if row, err = d.earlierTurn(ctx, tx, t.TurnID, id); err != nil {
		return nil, false, err
	}
	b := begun{Lease: t.Lease, turnID: t.TurnID, key: t.Key, user: t.User, assistant: t.Assistant, language: t.Language, at: t.BeganAt}
	err = tx.stmt(ctx, endLease).QueryRowContext(ctx, id, t.Lease.Token, t.Lease.Fence).Scan(&b.owner, &b.parent)
	stale := errors.Is(err, sql.ErrNoRows)
	switch {
	case err != nil && !stale:
		return nil, false, err
	case row == nil && !stale:
		return d.placeFor(ctx, tx, b)
	case row == nil: // on PostgreSQL another saver may have been faster
		if row, err = d.earlierTurn(ctx, tx, t.TurnID, id); err != nil {
			return nil, false, err
		}
	}
	switch {
	case row == nil:
		return nil, false, ErrStaleLease
	case row.saved > 0 && row.status == schemas.StatusInterrupted && t.Status == "":
		return row, false, d.reopen(ctx, tx, row, b)
	}
	return row, row.saved > 0, nil
}

// reopen prepares the place of a turn without a complete answer for another answer.
func (d *DB) reopen(ctx context.Context, tx turnTx, row *turnRow, b begun) error {
	err := d.resumeTurn(ctx, tx.Tx, row, b)
	row.id, row.saved, row.status = b.turnID, 0, schemas.StatusRunning
	return err
}

// placeFor returns the place of an unrecorded turn.
func (d *DB) placeFor(ctx context.Context, tx turnTx, b begun) (row *turnRow, saved bool, err error) {
	row, err = d.turnOfKey(ctx, tx, b)
	switch {
	case err != nil:
		return nil, false, err
	case row == nil:
		row, err = d.insertTurn(ctx, tx, b)
	case row.isOpen():
		err = d.reopen(ctx, tx, row, b)
	}
	return row, err == nil && row.saved > 0, err
}

// finishTurn writes the answer of a turn into its place.
func (d *DB) finishTurn(ctx context.Context, tx turnTx, row *turnRow, t saving) error {
	later, due := 0, 0
	switch {
	case t.Status != "": // it is never summarised
	case t.Later:
		later = 1
	default:
		due = 1
	}
	_, err := tx.stmt(ctx, finishConversation).ExecContext(ctx, row.num, row.saved, t.servers, t.Language, later, due)
	if err != nil {
		return err
	}
	var compaction sql.NullInt64
	if c := t.Compaction; c != nil {
		compaction = sql.NullInt64{Int64: c.Covers, Valid: true}
		if _, err := tx.ExecContext(ctx, `INSERT INTO compactions (conversation, seq, text) VALUES ($1, $2, $3)
			ON CONFLICT (conversation, seq) DO UPDATE SET text = excluded.text`, row.num, c.Covers, d.db.SQL.Text(c.Text)); err != nil {
			return err
		}
	}
	n, err := database.Changed(tx.stmt(ctx, finishTurn).ExecContext(ctx, t.TurnID, storedKey(t.Key, t.TurnID), t.Status,
		d.db.SQL.Text(t.Subject), compaction, row.saved))
	if err != nil {
		return err
	}
	if n == 0 {
		return ErrStaleLease // cleared, or saved by another saver just now
	}
	_, err = tx.stmt(ctx, finishAnswer).ExecContext(ctx, row.num, row.answer, d.db.SQL.Text(t.Answer), row.saved,
		t.Status, t.sources, d.db.SQL.Text(string(t.Calls)), t.Assistant)
	return err
}
