package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"molar/schemas"
)

const opSave = "save turn"

// saving is a turn on its way to the disk, and what became of it.
type saving struct {
	turn             Turn
	servers, sources string

	saved SavedTurn
	err   error
	done  chan struct{}
}

// saveQueue holds the turns that wait while another transaction is on its way to
// the disk. Whoever writes next takes all of them along: they share one commit, so
// nobody waits for company and nobody waits for more than one commit before its own.
type saveQueue struct {
	mu      sync.Mutex
	waiting []*saving
}

func (q *saveQueue) add(s *saving) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, s)
}

func (q *saveQueue) takeAll() []*saving {
	q.mu.Lock()
	defer q.mu.Unlock()
	all := q.waiting
	q.waiting = nil
	return all
}

// remove reports whether the turn was still waiting.
func (q *saveQueue) remove(s *saving) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.waiting, s)
	if i >= 0 {
		q.waiting = slices.Delete(q.waiting, i, i+1)
	}
	return i >= 0
}

// SaveTurn saves message and answer in one transaction that is on the disk when
// it returns. The same turn id, or the same key in the conversation, saves once
// and then returns what was saved. A lease that was overtaken is refused with
// [ErrStaleLease]; one that merely expired is good.
func (d *DB) SaveTurn(ctx context.Context, t Turn) (SavedTurn, error) {
	servers, sources, err := turnLists(t)
	if err != nil {
		return SavedTurn{}, d.fault(opSave, err)
	}
	s := &saving{turn: t, servers: servers, sources: sources, done: make(chan struct{})}
	if d.writing == nil {
		// PostgreSQL groups commits itself.
		err = d.write(ctx, opSave, func(tx *sql.Tx) error { return d.saveIn(ctx, tx, s) })
		return s.saved, err
	}
	if err := ctx.Err(); err != nil {
		return SavedTurn{}, d.fault(opSave, err)
	}
	d.saves.add(s)
	select {
	case <-s.done:
	case d.writing <- struct{}{}:
		d.saveAll(ctx, d.saves.takeAll())
		<-d.writing
		<-s.done // it was among them, or an earlier writer took it along
	case <-ctx.Done():
		if d.saves.remove(s) {
			return SavedTurn{}, d.fault(opSave, ctx.Err())
		}
		<-s.done
	}
	return s.saved, d.fault(opSave, s.err)
}

// saveAll saves the turns together. If that fails, each is tried alone, so that a
// turn that cannot be saved costs no other one; but not when the file is locked, as
// each would wait for as long again.
func (d *DB) saveAll(ctx context.Context, batch []*saving) {
	// The first one's caller may leave; the others stay.
	ctx = context.WithoutCancel(ctx)
	err := d.saveTogether(ctx, batch)
	alone := err != nil && len(batch) > 1 && kindOf(err) != KindLocked
	for _, s := range batch {
		if alone {
			_ = d.saveTogether(ctx, []*saving{s}) // its error is in s
		}
		if s.err != nil {
			s.saved = SavedTurn{}
		}
		close(s.done)
	}
}

// saveTogether runs one transaction. A refused turn has written nothing and leaves
// the others be; any other fault ends the transaction.
func (d *DB) saveTogether(ctx context.Context, batch []*saving) error {
	if len(batch) == 0 {
		return nil
	}
	err := inTx(ctx, d.durable, func(tx *sql.Tx) error {
		for _, s := range batch {
			s.err = d.saveIn(ctx, tx, s)
			if s.err != nil && !errors.Is(s.err, ErrStaleLease) && !errors.Is(s.err, ErrConflict) {
				return s.err
			}
		}
		return nil
	})
	if err != nil {
		for _, s := range batch {
			s.err = err
		}
	}
	return err
}

func (d *DB) saveIn(ctx context.Context, tx *sql.Tx, s *saving) error {
	owner, earlier, err := d.admit(ctx, tx, s.turn)
	if err != nil {
		return err
	}
	if earlier != nil {
		s.saved = *earlier
		return nil
	}
	s.saved = SavedTurn{TurnID: s.turn.TurnID, SavedAt: timeAt(millis(d.now()))}
	return d.insertTurn(ctx, tx, owner, s.turn, millis(s.saved.SavedAt), s.servers, s.sources)
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

// admit checks whether the turn was saved before, and else whether its lease still
// allows it to be. The lease is read first: on PostgreSQL that is where two savers of
// one turn wait for each other.
func (d *DB) admit(ctx context.Context, tx *sql.Tx, t Turn) (owner string, earlier *SavedTurn, err error) {
	id := t.Lease.ConversationID
	err = tx.StmtContext(ctx, d.stmts.checkLease).QueryRowContext(ctx, id, t.Lease.Token, t.Lease.Fence).Scan(&owner)
	stale := errors.Is(err, sql.ErrNoRows)
	if err != nil && !stale {
		return "", nil, err
	}
	earlier, err = scanSaved(tx.StmtContext(ctx, d.stmts.findTurn).QueryRowContext(ctx, t.TurnID), id)
	switch {
	case earlier != nil || err != nil:
		return "", earlier, err
	case stale:
		return "", nil, ErrStaleLease
	case t.Key == "":
		return owner, nil, nil
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
		d.sql.text(titleOf(t.User)), t.Language, servers, complete, now).Scan(&num, &last)
	if err != nil {
		return err
	}
	message := tx.StmtContext(ctx, d.stmts.insertMessage)
	_, err = message.ExecContext(ctx, num, last-1, string(schemas.RoleUser), d.sql.text(t.User), now, t.TurnID, "", "", "")
	if err != nil {
		return err
	}
	_, err = message.ExecContext(ctx, num, last, string(schemas.RoleAssistant), d.sql.text(t.Answer), now, t.TurnID,
		t.Status, sources, d.sql.text(string(t.Calls)))
	if err != nil {
		return err
	}
	_, err = tx.StmtContext(ctx, d.stmts.insertTurn).ExecContext(ctx, t.TurnID, num, t.Key, last, now)
	return err
}
