package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"molar/internal/store/database"
	"molar/schemas"
)

// A Journal stores the journals of the turns that one process runs, and takes over those of
// processes that are gone. It is safe for concurrent use.
type Journal struct {
	d *DB
	// replica names this process.
	replica string
}

// Journal returns the journal of a process of that name, which is unique among the processes on the
// database.
func (d *DB) Journal(replica string) *Journal { return &Journal{d, replica} }

// ErrTaken means that the turn belongs to another process now, or has ended.
const ErrTaken = database.RefusalError("the turn was taken over by another process, or has ended")

// The statements of a journal. Each is a transaction on PostgreSQL: a process that is stopped between
// two would keep their locks, and block those that share its turns.
const (
	beginJournal = `INSERT INTO live_turns (id, owner, assistant, conversation_id, replica, shared, state, goes_on, began_at, beat_at)
		SELECT CAST($2 AS TEXT), CAST($3 AS TEXT), CAST($4 AS TEXT), CAST($5 AS TEXT), CAST($6 AS TEXT), CAST($7 AS BOOLEAN), CAST($8 AS TEXT),
			CAST($9 AS BOOLEAN), NOW(), NOW()
		WHERE NOT EXISTS (SELECT 1 FROM erasures WHERE at >= $11 AND conversation_id = '' AND erasures.owner = $10)
		ON CONFLICT (id) DO UPDATE SET assistant = excluded.assistant, conversation_id = excluded.conversation_id,
			state = excluded.state, goes_on = excluded.goes_on, beat_at = excluded.beat_at
			WHERE live_turns.replica = excluded.replica AND live_turns.ended_at = 0`

	growJournal = `UPDATE live_turns SET beat_at = NOW(), ended_at = CASE WHEN $3 THEN NOW() ELSE 0 END,
			conversation_id = coalesce(nullif($4, ''), conversation_id)
		WHERE id = $2 AND replica = $5 AND ended_at = 0 RETURNING stop`

	insertItems = `INSERT INTO live_events (turn_id, first, last, body) VALUES ($1, $2, $3, $4)
		ON CONFLICT (turn_id, first) DO NOTHING`

	insertRound = `INSERT INTO live_rounds (turn_id, n, body) VALUES ($1, $2, $3) ON CONFLICT (turn_id, n) DO NOTHING`

	dropJournal = `DELETE FROM live_turns WHERE id = $1 AND replica = $2`
)

// Begin records a turn of this process, or adds the state to one that is recorded. It fails with
// [ErrTaken] if the turn has ended meanwhile, or its owner was erased since it began.
func (j *Journal) Begin(ctx context.Context, t schemas.JournalTurn) error {
	const op = "begin a journal"
	args := []any{
		j.d.db.Clock(), t.ID, t.Owner, t.Assistant, t.ConversationID, j.replica, t.Shared, j.d.db.SQL.Text(string(t.State)), t.GoesOn,
		ErasureMark(t.Owner), database.Millis(cmp.Or(t.Since, j.d.db.Now())),
	}
	begin := func(ctx context.Context, stmt *sql.Stmt) error {
		n, err := database.Changed(stmt.ExecContext(ctx, args...))
		if err == nil && n == 0 {
			err = ErrTaken
		}
		return err
	}
	if j.d.db.IsPostgres() {
		return j.d.db.Fault(op, begin(ctx, j.d.stmts.recording[beginJournal]))
	}
	return j.d.apply(ctx, op, false, func(ctx context.Context, tx turnTx) error { return begin(ctx, tx.stmt(ctx, beginJournal)) })
}

// Write adds news to journals of this process, all of them or, with an error, none. With synced set
// they are on the disk when it returns. held has an entry for each turn that still belongs to this
// process: whether a stop of it was requested. Of other turns nothing was written. Rows and rounds that
// are there already are not written again, so that a write of unknown outcome can be repeated.
func (j *Journal) Write(ctx context.Context, synced bool, news []schemas.JournalNews) (held map[string]bool, err error) {
	const op = "write journals"
	if j.d.db.IsPostgres() {
		held, err = j.writeAtOnce(ctx, synced, news)
		return held, j.d.db.Fault(op, err)
	}
	err = j.d.apply(ctx, op, synced, func(ctx context.Context, tx turnTx) error {
		held = make(map[string]bool, len(news))
		for _, n := range news {
			if err := j.grow(ctx, tx, n, held); err != nil {
				return err
			}
		}
		return nil
	})
	return held, err
}

// grow writes the news of one turn.
func (j *Journal) grow(ctx context.Context, tx turnTx, n schemas.JournalNews, held map[string]bool) error {
	var stop bool
	err := tx.stmt(ctx, growJournal).QueryRowContext(ctx, j.d.db.Clock(), n.TurnID, n.Ended, n.ConversationID, j.replica).Scan(&stop)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	held[n.TurnID] = stop
	for _, r := range n.Rows {
		if err == nil {
			_, err = tx.stmt(ctx, insertItems).ExecContext(ctx, n.TurnID, r.First, r.Last, r.Body)
		}
	}
	for _, r := range n.Rounds {
		if err == nil {
			_, err = tx.stmt(ctx, insertRound).ExecContext(ctx, n.TurnID, r.N, r.Body)
		}
	}
	return err
}

// writeAtOnce is Write as one statement.
func (j *Journal) writeAtOnce(ctx context.Context, synced bool, news []schemas.JournalNews) (held map[string]bool, err error) {
	text := j.d.db.SQL.Text
	ids, conversations, ended := make([]string, len(news)), make([]string, len(news)), make([]bool, len(news))
	var of, bodies, said, rounds []string
	var firsts, lasts, numbers []int64
	for i, n := range news {
		ids[i], conversations[i], ended[i] = n.TurnID, n.ConversationID, n.Ended
		for _, r := range n.Rows {
			of, bodies = append(of, n.TurnID), append(bodies, text(r.Body))
			firsts, lasts = append(firsts, int64(r.First)), append(lasts, int64(r.Last))
		}
		for _, r := range n.Rounds {
			said, numbers, rounds = append(said, n.TurnID), append(numbers, int64(r.N)), append(rounds, text(r.Body))
		}
	}
	pool := j.d.db.Relaxed
	if synced {
		pool = j.d.db.Durable
	}
	rows, err := pool.QueryContext(ctx, j.d.db.SQL.Say(`WITH held AS (
			UPDATE live_turns t SET beat_at = NOW(),
				ended_at = CASE WHEN n.ended THEN NOW() ELSE 0 END, conversation_id = coalesce(nullif(n.conversation, ''), conversation_id)
			FROM unnest($2::text[], $3::text[], $4::boolean[]) AS n(id, conversation, ended)
			WHERE t.id = n.id AND t.replica = $5 AND t.ended_at = 0 RETURNING t.id, t.stop
		), told AS (
			INSERT INTO live_events (turn_id, first, last, body)
			SELECT e.* FROM unnest($6::text[], $7::bigint[], $8::bigint[], $9::text[]) AS e(id, first, last, body) JOIN held USING (id)
			ON CONFLICT (turn_id, first) DO NOTHING
		), said AS (
			INSERT INTO live_rounds (turn_id, n, body)
			SELECT r.* FROM unnest($10::text[], $11::bigint[], $12::text[]) AS r(id, n, body) JOIN held USING (id)
			ON CONFLICT (turn_id, n) DO NOTHING
		)
		SELECT id, stop FROM held`), j.d.db.Clock(), ids, conversations, ended, j.replica, of, firsts, lasts, bodies, said, numbers, rounds)
	if err != nil {
		return nil, err
	}
	return heldOf(rows, len(news))
}

// heldOf reads turns, and whether a stop of each was requested.
func heldOf(rows *sql.Rows, size int) (map[string]bool, error) {
	defer rows.Close()
	held := make(map[string]bool, size)
	for rows.Next() {
		var id string
		var stop bool
		if err := rows.Scan(&id, &stop); err != nil {
			return nil, err
		}
		held[id] = stop
	}
	return held, rows.Err()
}

// An execer is a pool or a transaction.
type execer interface {
	database.Querier
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// run makes a change of few rows. On PostgreSQL each of its statements is a transaction.
func (j *Journal) run(ctx context.Context, op string, change func(to execer) error) error {
	if j.d.db.IsPostgres() {
		return j.d.db.Fault(op, change(j.d.db.Relaxed))
	}
	return j.d.db.WriteRelaxed(ctx, op, func(tx *sql.Tx) error { return change(tx) })
}

// Beat says that this process is alive. It returns its turns that have not ended, and whether a stop
// of each was requested.
func (j *Journal) Beat(ctx context.Context) (held map[string]bool, err error) {
	err = j.run(ctx, "renew journals", func(to execer) error {
		rows, err := to.QueryContext(ctx, j.d.db.SQL.Say(`UPDATE live_turns SET beat_at = NOW()
			WHERE replica = $2 AND ended_at = 0 RETURNING id, stop`), j.d.db.Clock(), j.replica)
		if err == nil {
			held, err = heldOf(rows, 8)
		}
		return err
	})
	return held, err
}

// Drop deletes journals of this process: nobody follows their turns.
func (j *Journal) Drop(ctx context.Context, ids []string) error {
	const op = "drop journals"
	if j.d.db.IsPostgres() {
		_, err := j.d.db.Relaxed.ExecContext(ctx, `DELETE FROM live_turns WHERE id = ANY($1) AND replica = $2`, ids, j.replica)
		return j.d.db.Fault(op, err)
	}
	return j.d.apply(ctx, op, false, func(ctx context.Context, tx turnTx) error {
		for _, id := range ids {
			if _, err := tx.stmt(ctx, dropJournal).ExecContext(ctx, id, j.replica); err != nil {
				return err
			}
		}
		return nil
	})
}

// Leave gives up turns of this process, so that another one, or the next one on the file, continues
// them at once.
func (j *Journal) Leave(ctx context.Context, ids []string) error {
	return j.run(ctx, "hand over turns", func(to execer) error {
		for _, id := range ids {
			if _, err := to.ExecContext(ctx, `UPDATE live_turns SET beat_at = 0, replica = '' WHERE id = $1 AND replica = $2 AND ended_at = 0`, id, j.replica); err != nil {
				return err
			}
		}
		return nil
	})
}

// leftFor is how long a turn that another process may continue waits for one.
const leftFor = time.Hour

// mine selects the turns that a process may take over: one that continues none leaves those that
// another process may continue to that one, for a while.
func mine(goesOn bool) string {
	if goesOn {
		return ``
	}
	return fmt.Sprintf(` AND NOT (goes_on AND began_at > NOW() - %d)`, leftFor.Milliseconds())
}

// TakeDead takes over the turns of processes that are known to be gone, as no other has the database
// open or they said so, and returns their ids. goesOn is set by a process that continues turns.
func (j *Journal) TakeDead(ctx context.Context, goesOn bool) ([]string, error) {
	return j.take(ctx, `ended_at = 0 AND beat_at = 0`+mine(goesOn))
}

// TakeLost takes over the turns whose process was silent for too long, and returns their ids. It
// deletes those that can no longer be followed. A locked turn is left for the next time: its process
// is about to write, or was stopped while it did.
func (j *Journal) TakeLost(ctx context.Context, goesOn bool) (lost []string, err error) {
	const op = "delete old journals"
	old := []string{`live_turns WHERE id IN (SELECT id FROM live_turns WHERE ended_at > 0 AND ended_at < NOW() - $2 AND NOT (lost AND state <> '')`}
	if j.d.db.IsPostgres() {
		old = append(old, `live_approvals WHERE id IN (SELECT id FROM live_approvals a WHERE beat_at < NOW() - $2
			AND NOT EXISTS (SELECT 1 FROM live_turns t WHERE t.id = a.turn_id)`)
	}
	err = j.run(ctx, op, func(to execer) error {
		for _, of := range old {
			_, err := to.ExecContext(ctx, j.d.db.SQL.Say(`DELETE FROM `+of+j.skipLocked()+`)`), j.d.db.Clock(), keptFor.Milliseconds())
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	// A process of an earlier version ends the turn without saving it; its state tells.
	return j.take(ctx, fmt.Sprintf(`(ended_at = 0 AND beat_at < NOW() - %d OR lost AND state <> '')`, staleAfter.Milliseconds())+mine(goesOn))
}

func (j *Journal) skipLocked() string {
	if j.d.db.IsPostgres() {
		return " FOR UPDATE SKIP LOCKED"
	}
	return ""
}

// take takes over the turns of other processes that where selects.
func (j *Journal) take(ctx context.Context, where string) (lost []string, err error) {
	err = j.run(ctx, "take over journals", func(to execer) (err error) {
		lost, err = database.List(ctx, to, database.One[string], j.d.db.SQL.Say(`UPDATE live_turns
			SET replica = $2, attempt = attempt + 1, beat_at = NOW() WHERE id IN (
				SELECT id FROM live_turns WHERE replica <> $2 AND `+where+j.skipLocked()+`) RETURNING id`), j.d.db.Clock(), j.replica)
		return err
	})
	return lost, err
}

// IsIdle reports whether there is nothing that [Journal.TakeLost] would do.
func (j *Journal) IsIdle(ctx context.Context) (bool, error) {
	var some bool
	err := j.d.db.Read.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM live_turns WHERE replica <> $1 OR ended_at > 0)
		OR EXISTS (SELECT 1 FROM live_approvals)`, j.replica).Scan(&some)
	return !some, j.d.db.Fault("look for lost turns", err)
}

// Lose ends a turn that this process has taken over and does not continue. Its state is deleted, as
// the turn is saved now.
func (j *Journal) Lose(ctx context.Context, id string) error {
	return j.run(ctx, "end a lost turn", func(to execer) error {
		_, err := to.ExecContext(ctx, j.d.db.SQL.Say(`UPDATE live_turns SET ended_at = NOW(), lost = TRUE, state = ''
			WHERE id = $2 AND replica = $3`), j.d.db.Clock(), id, j.replica)
		return err
	})
}

// Read returns the whole journal of a turn of any process; ok is false if there is none.
func (j *Journal) Read(ctx context.Context, id string) (r schemas.JournalRecord, ok bool, err error) {
	all, err := j.records(ctx, `id = $1`, id)
	if err != nil || len(all) == 0 {
		return r, false, err
	}
	return all[0], true, nil
}

// ReadConversation returns the journals of an owner's turns of a conversation that are not saved yet,
// the earliest first; no owner sees all.
func (j *Journal) ReadConversation(ctx context.Context, owner, conversationID string) ([]schemas.JournalRecord, error) {
	return j.records(ctx, `($1 = '' OR owner = $1) AND conversation_id = $2 AND state <> '' AND (ended_at = 0 OR lost)`, owner, conversationID)
}

// ReadOwner returns an owner's turns that are not saved yet, the earliest first; no owner sees all.
func (j *Journal) ReadOwner(ctx context.Context, owner string) ([]schemas.JournalTurn, error) {
	all, err := j.turns(ctx, `($1 = '' OR owner = $1) AND state <> '' AND (ended_at = 0 OR lost)`, owner)
	return all, j.d.db.Fault("read journals", err)
}

func (j *Journal) turns(ctx context.Context, where string, args ...any) ([]schemas.JournalTurn, error) {
	return database.List(ctx, j.d.db.Read, func(row *sql.Rows) (t schemas.JournalTurn, err error) {
		var state string
		var began, ended int64
		err = row.Scan(&t.ID, &t.Owner, &t.Assistant, &t.ConversationID, &t.Shared, &t.GoesOn, &t.Attempt, &state, &began, &ended, &t.Lost)
		t.State, t.Began, t.Ended = []byte(state), database.TimeAt(began), ended > 0
		return t, err
	}, `SELECT id, owner, assistant, conversation_id, shared, goes_on, attempt, state, began_at, ended_at, lost FROM live_turns
		WHERE `+where+` ORDER BY began_at, id`, args...)
}

// records reads whole journals.
func (j *Journal) records(ctx context.Context, where string, args ...any) (all []schemas.JournalRecord, err error) {
	found, err := j.turns(ctx, where, args...)
	for _, t := range found {
		r := schemas.JournalRecord{JournalTurn: t}
		r.Rows, err = database.List(ctx, j.d.db.Read, func(row *sql.Rows) (r schemas.JournalRow, err error) {
			err = row.Scan(&r.First, &r.Last, &r.Body)
			return r, err
		}, `SELECT first, last, body FROM live_events WHERE turn_id = $1 ORDER BY first`, t.ID)
		if err == nil {
			r.Rounds, err = database.List(ctx, j.d.db.Read, func(row *sql.Rows) (r schemas.JournalRound, err error) {
				err = row.Scan(&r.N, &r.Body)
				return r, err
			}, `SELECT n, body FROM live_rounds WHERE turn_id = $1 ORDER BY n`, t.ID)
		}
		if err != nil {
			break
		}
		all = append(all, r)
	}
	if err != nil {
		return nil, j.d.db.Fault("read journals", fmt.Errorf("turn journals: %w", err))
	}
	return all, nil
}
