package store

import (
	"context"
	"time"

	"molar/internal/store/database"
	"molar/schemas"
)

const (
	// staleAfter is the time without news from a replica after which the others end its turn.
	staleAfter = 8 * time.Second
	// keptFor is how long a turn can be read after its end: longer than it can be followed.
	keptFor = 2 * time.Minute
)

// A Live lets the processes on one PostgreSQL follow, stop and decide about each other's turns. It is
// safe for concurrent use.
type Live struct {
	db *database.DB
	// replica names this process.
	replica string
}

// newLive returns the store for a process of this name, which is unique among the processes on
// a database.
func newLive(db *database.DB, replica string) *Live { return &Live{db, replica} }

// write makes a change. Each is one statement: a process that is stopped between two would
// keep their locks, and block all that share its turns and limits.
func (s *Live) write(ctx context.Context, op, statement string, args ...any) (changed int64, err error) {
	changed, err = database.Changed(s.db.Relaxed.ExecContext(ctx, s.db.SQL.Say(statement), args...))
	return changed, s.db.Fault(op, err)
}

// Find returns a turn that others may follow, if it is the owner's.
func (s *Live) Find(ctx context.Context, owner, id string) (t schemas.JournalTurn, ok bool, err error) {
	t = schemas.JournalTurn{ID: id, Owner: owner}
	var began, ended int64
	err = s.db.Read.QueryRowContext(ctx, `SELECT assistant, conversation_id, began_at, ended_at, lost FROM live_turns WHERE id = $1 AND owner = $2 AND shared`, id, owner).
		Scan(&t.Assistant, &t.ConversationID, &began, &ended, &t.Lost)
	t.Began, t.Ended = database.TimeAt(began), ended > 0
	ok, err = s.db.Found("find a live turn", err)
	return t, ok, err
}

// Stop asks the replica that runs a turn to stop it.
func (s *Live) Stop(ctx context.Context, id string) error {
	_, err := s.write(ctx, "stop a live turn", `UPDATE live_turns SET stop = TRUE WHERE id = $1 AND ended_at = 0`, id)
	return err
}

// maxRead limits the rows of one [Live.Read].
const maxRead = 1000

// Read returns the items of the turns after these numbers; more means that there is more to
// read at once.
func (s *Live) Read(ctx context.Context, after map[string]int) (told map[string]schemas.JournalUpdate, more bool, err error) {
	const op = "read live turns"
	ids, numbers := make([]string, 0, len(after)), make([]int64, 0, len(after))
	told = make(map[string]schemas.JournalUpdate, len(after))
	for id, n := range after {
		ids, numbers = append(ids, id), append(numbers, int64(n))
		told[id] = schemas.JournalUpdate{Ended: true, Lost: true}
	}
	// The states first: with the end of a turn all its rows are there.
	if err := s.readStates(ctx, ids, told); err != nil {
		return nil, false, s.db.Fault(op, err)
	}
	rows, err := s.db.Read.QueryContext(ctx, `SELECT e.turn_id, e.first, e.last, e.body FROM live_events e
		JOIN unnest($1::text[], $2::bigint[]) AS c(id, n) ON e.turn_id = c.id AND e.first > c.n
		ORDER BY e.turn_id, e.first LIMIT $3`, ids, numbers, maxRead)
	if err != nil {
		return nil, false, s.db.Fault(op, err)
	}
	defer rows.Close()
	read := 0
	for rows.Next() {
		var id string
		var r schemas.JournalRow
		if err := rows.Scan(&id, &r.First, &r.Last, &r.Body); err != nil {
			return nil, false, s.db.Fault(op, err)
		}
		t := told[id]
		t.Rows = append(t.Rows, r)
		told[id] = t
		read++
	}
	if more = read == maxRead; more {
		for id, t := range told {
			t.Ended = false // maybe not all of its rows
			told[id] = t
		}
	}
	return told, more, s.db.Fault(op, rows.Err())
}

func (s *Live) readStates(ctx context.Context, ids []string, told map[string]schemas.JournalUpdate) error {
	rows, err := s.db.Read.QueryContext(ctx, `SELECT id, ended_at > 0, lost FROM live_turns WHERE id = ANY($1)`, ids)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		var ended, lost bool
		if err := rows.Scan(&id, &ended, &lost); err != nil {
			return err
		}
		told[id] = schemas.JournalUpdate{Ended: ended, Lost: lost}
	}
	return rows.Err()
}
