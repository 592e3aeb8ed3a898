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
	b := begun{Lease: t.Lease, turnID: t.TurnID, key: t.Key, user: t.User, assistant: t.Assistant, language: t.Language, at: t.BeganAt}
	row, saved, err := d.admit(ctx, tx, &b, t.Turn)
	if err != nil {
		return SavedTurn{}, err
	}
	if saved {
		return SavedTurn{TurnID: row.id, SavedAt: database.TimeAt(row.saved)}, nil
	}
	now := database.Millis(d.db.Now())
	if row == nil {
		err = d.insertTurn(ctx, tx, b, t, now)
	} else {
		row.saved = now
		err = d.finishTurn(ctx, tx, row, t)
	}
	return SavedTurn{TurnID: t.TurnID, SavedAt: database.TimeAt(now)}, err
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

// admit returns the place of the turn, nil if it has none, and reports whether the turn was saved
// before. It releases the lease, and sets the owner and the parent of b by it; on PostgreSQL that is
// where two savers of one turn wait for each other.
func (d *DB) admit(ctx context.Context, tx turnTx, b *begun, t Turn) (row *turnRow, saved bool, err error) {
	id := t.Lease.ConversationID
	if row, err = d.earlierTurn(ctx, tx, t.TurnID, id); err != nil {
		return nil, false, err
	}
	err = tx.stmt(ctx, endLease).QueryRowContext(ctx, id, t.Lease.Token, t.Lease.Fence).Scan(&b.owner, &b.parent)
	stale := errors.Is(err, sql.ErrNoRows)
	switch {
	case err != nil && !stale:
		return nil, false, err
	case row == nil && !stale:
		return d.placeOfKey(ctx, tx, *b)
	case row == nil: // on PostgreSQL another saver may have been faster
		if row, err = d.earlierTurn(ctx, tx, t.TurnID, id); err != nil {
			return nil, false, err
		}
	}
	switch {
	case row == nil:
		return nil, false, ErrStaleLease
	case row.saved > 0 && row.status == schemas.StatusInterrupted && t.Status == "":
		return row, false, d.reopen(ctx, tx, row, *b)
	}
	return row, row.saved > 0, nil
}

// reopen prepares the place of a turn without a complete answer for another answer.
func (d *DB) reopen(ctx context.Context, tx turnTx, row *turnRow, b begun) error {
	err := d.resumeTurn(ctx, tx.Tx, row, b)
	row.id, row.saved, row.status = b.turnID, 0, schemas.StatusRunning
	return err
}

// placeOfKey returns the earlier turn that has the same key, ready for another answer if it has none that
// is complete; nil if there is no such turn.
func (d *DB) placeOfKey(ctx context.Context, tx turnTx, b begun) (row *turnRow, saved bool, err error) {
	row, err = d.turnOfKey(ctx, tx, b)
	if err != nil || row == nil {
		return nil, false, err
	}
	if row.isOpen() {
		err = d.reopen(ctx, tx, row, b)
	}
	return row, err == nil && row.saved > 0, err
}

// summarised reports, each as 0 or 1, whether the summary of a turn is to be written later, or now. An
// incomplete one is never summarised.
func (t saving) summarised() (later, due int) {
	switch {
	case t.Status != "":
		return 0, 0
	case t.Later:
		return 1, 0
	}
	return 0, 1
}

// compact stores the compaction of a turn, and returns what it covers; not valid if it has none.
func (d *DB) compact(ctx context.Context, tx turnTx, num int64, t saving) (covers sql.NullInt64, err error) {
	c := t.Compaction
	if c == nil {
		return covers, nil
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO compactions (conversation, seq, text) VALUES ($1, $2, $3)
		ON CONFLICT (conversation, seq) DO UPDATE SET text = excluded.text`, num, c.Covers, d.db.SQL.Text(c.Text))
	return sql.NullInt64{Int64: c.Covers, Valid: true}, err
}

// finishTurn writes the answer of a turn into its place.
func (d *DB) finishTurn(ctx context.Context, tx turnTx, row *turnRow, t saving) error {
	later, due := t.summarised()
	_, err := tx.stmt(ctx, finishConversation).ExecContext(ctx, row.num, row.saved, t.servers, t.Language, later, due)
	if err != nil {
		return err
	}
	compaction, err := d.compact(ctx, tx, row.num, t)
	if err != nil {
		return err
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
