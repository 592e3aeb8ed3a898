package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"molar/internal/store/database"
	"molar/schemas"
)

// countAction returns the statement that counts an action under so many names, in one go and in their order, and
// begins a new time for each whose time before is over. Its arguments are the clock, and of each name itself and
// how long its time is. A clock that was wrong once does not keep a time open for longer than it is.
func countAction(names int) string {
	var rows strings.Builder
	for i := range names {
		_, _ = fmt.Fprintf(&rows, ", ($%d, NOW(), $%d, 1)", 2*i+2, 2*i+3)
	}
	return `INSERT INTO visit_counts AS c (name, began_at, per, count) VALUES ` + rows.String()[len(", "):] + `
	ON CONFLICT (name) DO UPDATE SET per = excluded.per,
		began_at = CASE WHEN abs(excluded.began_at - c.began_at) < excluded.per THEN c.began_at ELSE excluded.began_at END,
		count = CASE WHEN abs(excluded.began_at - c.began_at) < excluded.per THEN c.count + 1 ELSE 1 END
	RETURNING name, began_at, count, 0`
}

// readCounts reads the counts of names, a JSON array in $2, and the time.
const readCounts = `SELECT name, began_at, count, NOW() FROM visit_counts WHERE name IN (SELECT value FROM EACH($2) AS h)`

// Count counts an action under the name of each limit; with limits of several names, under all of them or none.
// If a limit is reached nothing is counted, and it returns the refusal that lasts longest. The time of a limit
// begins with its first action, by the clock of the database. What it counted survives a crash of the process,
// but not a loss of power. A limit without a number or a time is none.
//
// Each name is there once. The one that most share comes last, as the next action waits for it from then on; all
// callers name theirs in the same order, or they may wait for each other until one of them fails.
func (s *State) Count(ctx context.Context, limits []schemas.CountedLimit) (*schemas.LimitRefusal, error) {
	limits = slices.DeleteFunc(slices.Clone(limits), func(l schemas.CountedLimit) bool { return l.Count <= 0 || l.Per < time.Millisecond })
	if len(limits) == 0 {
		return nil, nil //nolint:nilnil // nothing refuses it
	}
	// Whoever is refused again and again must not keep those waiting who are counted.
	refusal, err := s.reached(ctx, limits)
	if refusal != nil || err != nil {
		return refusal, err
	}
	err = s.db.WriteRelaxed(ctx, "count an action", func(tx *sql.Tx) error {
		refusal = nil
		args := []any{s.db.Clock()}
		for _, l := range limits {
			args = append(args, s.db.SQL.Text(l.Name), l.Per.Milliseconds())
		}
		counts, err := database.List(ctx, tx, readCount, s.db.SQL.Say(countAction(len(limits))), args...)
		if err != nil {
			return err
		}
		for _, c := range counts {
			if l := limits[slices.IndexFunc(limits, s.named(c.name))]; c.count > int64(l.Count) {
				refusal = longer(refusal, l, c.began)
			}
		}
		if refusal != nil {
			return errRefused // takes back what was counted
		}
		return nil
	})
	if refusal != nil && errors.Is(err, errRefused) {
		err = nil
	}
	return refusal, err
}

// reached returns the refusal that lasts longest of limits that are reached already, or nil. It only reads.
func (s *State) reached(ctx context.Context, limits []schemas.CountedLimit) (refusal *schemas.LimitRefusal, err error) {
	names := make([]string, len(limits))
	for i, l := range limits {
		names[i] = s.db.SQL.Text(l.Name)
	}
	list, err := json.Marshal(names)
	if err != nil {
		return nil, err
	}
	counts, err := database.List(ctx, s.db.Read, readCount, s.db.SQL.Say(readCounts), s.db.Clock(), string(list))
	if err != nil {
		return nil, s.db.Fault("read counts", err)
	}
	for _, c := range counts {
		l := limits[slices.IndexFunc(limits, s.named(c.name))]
		if c.count >= int64(l.Count) && max(c.now-c.began, c.began-c.now) < l.Per.Milliseconds() {
			refusal = longer(refusal, l, c.began)
		}
	}
	return refusal, nil
}

// A count is a row of visit_counts, and the time.
type count struct {
	name              string
	began, count, now int64
}

func readCount(row *sql.Rows) (c count, err error) {
	err = row.Scan(&c.name, &c.began, &c.count, &c.now)
	return c, err
}

// named returns a function that reports whether a limit is stored under a name.
func (s *State) named(name string) func(schemas.CountedLimit) bool {
	return func(l schemas.CountedLimit) bool { return s.db.SQL.Text(l.Name) == name }
}

// longer returns the refusal of a limit whose time began at began, if it lasts longer than another one.
func longer(than *schemas.LimitRefusal, l schemas.CountedLimit, began int64) *schemas.LimitRefusal {
	until := database.TimeAt(began).Add(l.Per)
	if than != nil && !until.After(than.Until) {
		return than
	}
	return &schemas.LimitRefusal{Limit: l, Until: until}
}

const errRefused = database.RefusalError("a limit is reached")

// DropCounts deletes the counts whose time was over before a time. It returns how many they were.
func (s *State) DropCounts(ctx context.Context, before time.Time) (gone int, err error) {
	err = s.db.WriteRelaxed(ctx, "delete old counts", func(tx *sql.Tx) error {
		n, err := database.Changed(tx.ExecContext(ctx, `DELETE FROM visit_counts WHERE began_at + per < $1`, database.Millis(before)))
		gone = int(n)
		return err
	})
	return gone, err
}
