package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"molar/internal/store/database"
)

// AnswerKey returns the key of the hashes by which answers are remembered: 32 random bytes, the same
// for all that share the database. The caller keeps it.
func (s *State) AnswerKey(ctx context.Context) ([]byte, error) { return s.Secret(ctx, "answers") }

// RememberAnswer stores, until a time, from which origins the texts came that had been read when an
// answer was made, unless the owner was erased since the turn began. hashes are those of the answer and
// of its parts. Origins of an earlier answer with the same hash are kept, too. PostgreSQL has the answer when it returns. SQLite has it some seconds
// later, with others, and before this process looks one up: until then another process does not know
// it, and a lost one forgets it. The answer is then one that nobody here made.
func (d *DB) RememberAnswer(ctx context.Context, owner string, hashes, origins []string, since, until time.Time) error {
	if len(hashes) == 0 {
		return nil
	}
	from := make([]string, 0, len(origins))
	for _, origin := range origins {
		from = append(from, d.db.SQL.Text(origin))
	}
	slices.Sort(from)
	hashesJSON, err := json.Marshal(hashes)
	if err != nil {
		return err
	}
	originsJSON, err := json.Marshal(slices.Compact(from))
	if err != nil {
		return err
	}
	args := []any{owner, string(hashesJSON), string(originsJSON), database.Millis(until), ErasureMark(owner), database.Millis(since)}
	d.answers.mu.Lock()
	defer d.answers.mu.Unlock()
	if len(d.answers.waiting) == 0 {
		d.answers.since = d.db.Now()
	}
	if d.answers.waiting == nil {
		d.answers.waiting = make(map[string][]any)
	}
	d.answers.waiting[owner+"\x00"+string(hashesJSON)+string(originsJSON)] = args // the same again only lasts longer
	if len(d.answers.waiting) < maxWaitingAnswers && d.db.Now().Sub(d.answers.since) < maxAnswerWait && !d.db.IsPostgres() {
		return nil
	}
	return d.writeAnswers(ctx)
}

// How many answers wait to be written, and how long if another one follows. PostgreSQL, which replicas
// share, has each at once.
const (
	maxWaitingAnswers = 4096
	maxAnswerWait     = 10 * time.Second
)

// waitingAnswers are answers to be written.
type waitingAnswers struct {
	mu      sync.Mutex
	waiting map[string][]any
	since   time.Time
}

// writeAnswers writes the answers that wait. The caller holds d.answers.mu.
func (d *DB) writeAnswers(ctx context.Context) error {
	if len(d.answers.waiting) == 0 {
		return nil
	}
	const op = "remember answers"
	all := d.answers.waiting
	d.answers.waiting = nil // one that fails would fail again
	if d.db.IsPostgres() {  // one statement is a transaction
		var faults []error
		for _, args := range all {
			_, err := d.stmts.recording[rememberAnswer].ExecContext(ctx, args...)
			faults = append(faults, d.db.Fault(op, err))
		}
		return errors.Join(faults...)
	}
	return d.apply(ctx, op, false, func(ctx context.Context, tx turnTx) error {
		for _, args := range all {
			if _, err := tx.stmt(ctx, rememberAnswer).ExecContext(ctx, args...); err != nil {
				return err
			}
		}
		return nil
	})
}

// writeWaiting writes the answers that wait.
func (d *DB) writeWaiting(ctx context.Context) error {
	d.answers.mu.Lock()
	defer d.answers.mu.Unlock()
	return d.writeAnswers(ctx)
}

// AnswerOrigins is [State.AnswerOrigins] after the answers that wait are written.
func (d *DB) AnswerOrigins(ctx context.Context, owner string, hashes []string) (map[string][]string, error) {
	err := d.writeWaiting(ctx)
	found, other := d.State.AnswerOrigins(ctx, owner, hashes)
	return found, errors.Join(err, other)
}

// rememberAnswer stores the origins for each hash.
const rememberAnswer = `INSERT INTO answers (owner, hash, origins, expires)
	SELECT DISTINCT CAST($1 AS TEXT), h.value, CAST($3 AS TEXT), CAST($4 AS BIGINT) FROM EACH($2) AS h
	WHERE NOT EXISTS (SELECT 1 FROM erasures WHERE at >= $6 AND conversation_id = '' AND erasures.owner = $5)
	ON CONFLICT (owner, hash) DO UPDATE SET
		origins = CASE WHEN answers.origins = excluded.origins THEN answers.origins ELSE MERGED_ORIGINS END,
		expires = CASE WHEN answers.expires < excluded.expires THEN excluded.expires ELSE answers.expires END`

// AnswerOrigins returns the origins of an owner's answers by their hashes. A hash that is not
// remembered is left out; an answer before which nothing was read has an empty list.
func (s *State) AnswerOrigins(ctx context.Context, owner string, hashes []string) (map[string][]string, error) {
	found := map[string][]string{}
	if len(hashes) == 0 {
		return found, nil
	}
	const op = "look up answers"
	list, err := json.Marshal(hashes)
	if err != nil {
		return nil, err
	}
	type pair struct{ hash, origins string }
	pairs, err := database.List(s.db.Short(ctx), s.db.Read, func(row *sql.Rows) (p pair, err error) {
		err = row.Scan(&p.hash, &p.origins)
		return p, err
	}, s.db.SQL.Say(`SELECT hash, origins FROM answers WHERE owner = $1 AND hash IN (SELECT value FROM EACH($2) AS h) AND expires > $3`),
		owner, string(list), database.Millis(s.db.Now()))
	for _, p := range pairs {
		var origins []string
		if err = errors.Join(err, json.Unmarshal([]byte(p.origins), &origins)); err != nil {
			break
		}
		slices.Sort(origins)
		found[p.hash] = origins
	}
	return found, s.db.Fault(op, err)
}

// DropAnswers deletes the hashes of answers that were remembered until a time before the given one, and
// returns how many rows that were.
func (s *State) DropAnswers(ctx context.Context, before time.Time) (int, error) {
	var n int64
	err := s.db.WriteRelaxed(ctx, "forget old answers", func(tx *sql.Tx) (err error) {
		n, err = dropAnswersIn(ctx, tx, before)
		return err
	})
	return int(n), err
}

func dropAnswersIn(ctx context.Context, tx *sql.Tx, before time.Time) (int64, error) {
	return database.Changed(tx.ExecContext(ctx, `DELETE FROM answers WHERE expires <= $1`, database.Millis(before)))
}
