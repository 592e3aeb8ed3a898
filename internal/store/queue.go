package store

import (
	"context"
	"database/sql"
	"errors"
	"runtime"
	"slices"
	"sync"

	"molar/internal/store/database"
)

// change is a part of a turn to be written, with its result.
type change struct {
	// durable waits for the disk.
	durable bool
	// run may run again, so it must set what it returns, not add to it.
	run  func(ctx context.Context, tx turnTx) error
	err  error
	done chan struct{}
}

// changeQueue holds the changes that wait while another transaction runs. The next writer
// takes all of them along: they share one commit, so that none waits for others to arrive, nor
// for more than one commit before its own.
type changeQueue struct {
	mu      sync.Mutex
	waiting []*change
}

func (q *changeQueue) add(c *change) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, c)
}

func (q *changeQueue) takeAll() []*change {
	q.mu.Lock()
	defer q.mu.Unlock()
	all := q.waiting
	q.waiting = nil
	return all
}

// remove reports whether the change was still waiting.
func (q *changeQueue) remove(c *change) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.waiting, c)
	if i >= 0 {
		q.waiting = slices.Delete(q.waiting, i, i+1)
	}
	return i >= 0
}

// apply runs a change in a transaction, with those that wait at the same time.
func (d *DB) apply(ctx context.Context, op string, durable bool, run func(ctx context.Context, tx turnTx) error) error {
	c := &change{durable: durable, run: run, done: make(chan struct{})}
	if d.db.Writing == nil {
		// PostgreSQL groups commits itself.
		write := d.db.WriteRelaxed
		if durable {
			write = d.db.Write
		}
		return write(ctx, op, func(tx *sql.Tx) error { return run(ctx, turnTx{tx, d.stmts.writing(durable)}) })
	}
	if err := ctx.Err(); err != nil {
		return d.db.Fault(op, err)
	}
	d.changes.add(c)
	select {
	case <-c.done:
	case d.db.Writing <- struct{}{}:
		runtime.Gosched() // what is about to add a change shares the commit
		d.applyAll(ctx, d.changes.takeAll())
		<-d.db.Writing
		<-c.done // it was among them, or an earlier writer took it along
	case <-ctx.Done():
		if d.changes.remove(c) {
			return d.db.Fault(op, ctx.Err())
		}
		<-c.done
	}
	return d.db.Fault(op, c.err)
}

// applyAll applies the changes together. If that fails, each is tried alone, so that one that
// fails costs no other; but not when the file is locked, as each would wait as long again.
func (d *DB) applyAll(ctx context.Context, batch []*change) {
	// The first change's caller may leave; the others stay.
	ctx = context.WithoutCancel(ctx)
	err := d.applyTogether(ctx, batch)
	alone := err != nil && len(batch) > 1 && database.KindOf(err) != database.KindLocked
	for _, c := range batch {
		if alone {
			_ = d.applyTogether(ctx, []*change{c}) // its error is in c
		}
		close(c.done)
	}
}

// applyTogether runs one transaction. A refused change has no effect and does not stop the
// others; any other fault ends the transaction.
func (d *DB) applyTogether(ctx context.Context, batch []*change) error {
	if len(batch) == 0 {
		return nil
	}
	err := d.db.CheckFile()
	if err == nil {
		err = d.runTogether(ctx, batch)
	}
	if err != nil {
		for _, c := range batch {
			c.err = err
		}
	}
	return err
}

func (d *DB) runTogether(ctx context.Context, batch []*change) error {
	durable := slices.ContainsFunc(batch, func(c *change) bool { return c.durable })
	return d.db.InTx(ctx, durable, func(tx *sql.Tx) error {
		stmts := d.stmts.writing(durable)
		for _, c := range batch {
			c.err = c.run(ctx, turnTx{tx, stmts})
			if c.err != nil && !errors.Is(c.err, ErrStaleLease) && !errors.Is(c.err, ErrConflict) && !errors.Is(c.err, ErrTaken) {
				return c.err
			}
		}
		return nil
	})
}
