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

// A Live stores running turns in PostgreSQL. It is safe for concurrent use.
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

// Begin records a turn of this process.
func (s *Live) Begin(ctx context.Context, t schemas.LiveTurn) error {
	_, err := s.write(ctx, "begin a live turn", `INSERT INTO live_turns (id, owner, assistant, conversation_id, replica, began_at, beat_at)
		VALUES ($2, $3, $4, $5, $6, NOW(), NOW())`, s.db.Clock(), t.ID, t.Owner, t.Assistant, t.ConversationID, s.replica)
	return err
}

// Find returns a turn, if it is the owner's.
func (s *Live) Find(ctx context.Context, owner, id string) (t schemas.LiveTurn, ok bool, err error) {
	t = schemas.LiveTurn{ID: id, Owner: owner}
	var began, ended int64
	err = s.db.Read.QueryRowContext(ctx, `SELECT assistant, conversation_id, began_at, ended_at, lost FROM live_turns WHERE id = $1 AND owner = $2`, id, owner).
		Scan(&t.Assistant, &t.ConversationID, &began, &ended, &t.Lost)
	t.Began, t.Ended = database.TimeAt(began), ended > 0
	ok, err = s.db.Found("find a live turn", err)
	return t, ok, err
}

// Tell writes the news of turns of this process, all of them or, with an error, none. It
// returns which turns still belong to this process, and whether a stop was requested for each;
// nothing was written of the others.
func (s *Live) Tell(ctx context.Context, news []schemas.LiveNews) (held map[string]bool, err error) {
	const op = "tell of live turns"
	ids, conversations, ended := make([]string, len(news)), make([]string, len(news)), make([]bool, len(news))
	var of, bodies []string
	var firsts, lasts []int64
	for i, n := range news {
		ids[i], conversations[i], ended[i] = n.TurnID, n.ConversationID, n.Ended
		for _, r := range n.Rows {
			of, bodies = append(of, n.TurnID), append(bodies, s.db.SQL.Text(r.Body))
			firsts, lasts = append(firsts, int64(r.First)), append(lasts, int64(r.Last))
		}
	}
	rows, err := s.db.Relaxed.QueryContext(ctx, s.db.SQL.Say(`WITH held AS (
			UPDATE live_turns t SET beat_at = NOW(),
				ended_at = CASE WHEN n.ended THEN NOW() ELSE 0 END, conversation_id = coalesce(nullif(n.conversation, ''), conversation_id)
			FROM unnest($2::text[], $3::text[], $4::boolean[]) AS n(id, conversation, ended)
			WHERE t.id = n.id AND t.replica = $5 AND t.ended_at = 0 RETURNING t.id, t.stop
		), told AS (
			INSERT INTO live_events (turn_id, first, last, body)
			SELECT e.* FROM unnest($6::text[], $7::bigint[], $8::bigint[], $9::text[]) AS e(id, first, last, body) JOIN held USING (id)
		)
		SELECT id, stop FROM held`), s.db.Clock(), ids, conversations, ended, s.replica, of, firsts, lasts, bodies)
	if err != nil {
		return nil, s.db.Fault(op, err)
	}
	defer rows.Close()
	held = make(map[string]bool, len(news))
	for rows.Next() {
		var id string
		var stop bool
		if err := rows.Scan(&id, &stop); err != nil {
			return nil, s.db.Fault(op, err)
		}
		held[id] = stop
	}
	return held, s.db.Fault(op, rows.Err())
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
func (s *Live) Read(ctx context.Context, after map[string]int) (told map[string]schemas.LiveUpdate, more bool, err error) {
	const op = "read live turns"
	ids, numbers := make([]string, 0, len(after)), make([]int64, 0, len(after))
	told = make(map[string]schemas.LiveUpdate, len(after))
	for id, n := range after {
		ids, numbers = append(ids, id), append(numbers, int64(n))
		told[id] = schemas.LiveUpdate{Ended: true, Lost: true}
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
		var r schemas.LiveRow
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

func (s *Live) readStates(ctx context.Context, ids []string, told map[string]schemas.LiveUpdate) error {
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
		told[id] = schemas.LiveUpdate{Ended: ended, Lost: lost}
	}
	return rows.Err()
}

// Reap ends the turns whose replica was silent for too long, deletes those that can no longer
// be followed, and returns the ids of the former. A locked turn is left for the next time: its
// replica is about to write, or was stopped while it did.
func (s *Live) Reap(ctx context.Context) (lost []string, err error) {
	lost, err = database.List(ctx, s.db.Relaxed, database.One[string], s.db.SQL.Say(`WITH old AS (
			DELETE FROM live_turns WHERE id IN (
				SELECT id FROM live_turns WHERE ended_at > 0 AND ended_at < NOW() - $2 FOR UPDATE SKIP LOCKED)
		), unheard AS (
			DELETE FROM live_approvals WHERE id IN (
				SELECT id FROM live_approvals a WHERE beat_at < NOW() - $2
					AND NOT EXISTS (SELECT 1 FROM live_turns t WHERE t.id = a.turn_id) FOR UPDATE SKIP LOCKED)
		)
		UPDATE live_turns SET ended_at = NOW(), lost = TRUE WHERE id IN (
			SELECT id FROM live_turns WHERE ended_at = 0 AND beat_at < NOW() - $3 FOR UPDATE SKIP LOCKED)
		RETURNING id`), s.db.Clock(), keptFor.Milliseconds(), staleAfter.Milliseconds())
	return lost, s.db.Fault("reap live turns", err)
}
