package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"molar/internal/store/database"
	"molar/schemas"
)

// countAction counts an action under a name, and begins a new time if the one before is over. A clock that was
// wrong once does not keep a time open for longer than it is.
const countAction = `INSERT INTO visit_counts AS c (name, began_at, per, count) VALUES ($2, NOW(), $3, 1)
	ON CONFLICT (name) DO UPDATE SET per = excluded.per,
		began_at = CASE WHEN abs(excluded.began_at - c.began_at) < excluded.per THEN c.began_at ELSE excluded.began_at END,
		count = CASE WHEN abs(excluded.began_at - c.began_at) < excluded.per THEN c.count + 1 ELSE 1 END
	RETURNING began_at, count`

// readCounts reads the counts of names, a JSON array in $2, and the time.
const readCounts = `SELECT name, began_at, count, NOW() FROM visit_counts WHERE name IN (SELECT value FROM EACH($2) AS h)`

// Count counts an action under the name of each limit; with limits of several names, under all of them or none.
// If a limit is reached nothing is counted, and it returns the refusal that lasts longest. The time of a limit
// begins with its first action, by the clock of the database. What it counted survives a crash of the process,
// but not a loss of power. A limit without a number or a time is none.
func (s *State) Count(ctx context.Context, limits []schemas.CountedLimit) (*schemas.LimitRefusal, error) {
	// All lock the rows in one order.
	limits = slices.SortedFunc(slices.Values(limits), func(a, b schemas.CountedLimit) int { return cmp.Compare(a.Name, b.Name) })
	limits = slices.DeleteFunc(limits, func(l schemas.CountedLimit) bool { return l.Count <= 0 || l.Per < time.Millisecond })
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
		for _, l := range limits {
			var began, count int64
			if err := tx.QueryRowContext(ctx, s.db.SQL.Say(countAction), s.db.Clock(), s.db.SQL.Text(l.Name), l.Per.Milliseconds()).Scan(&began, &count); err != nil {
				return err
			}
			if count > int64(l.Count) {
				refusal = longer(refusal, l, began)
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
	type row struct {
		name              string
		began, count, now int64
	}
	rows, err := database.List(ctx, s.db.Read, func(r *sql.Rows) (one row, err error) {
		err = r.Scan(&one.name, &one.began, &one.count, &one.now)
		return one, err
	}, s.db.SQL.Say(readCounts), s.db.Clock(), string(list))
	if err != nil {
		return nil, s.db.Fault("read counts", err)
	}
	for _, r := range rows {
		l := limits[slices.Index(names, r.name)]
		if r.count >= int64(l.Count) && max(r.now-r.began, r.began-r.now) < l.Per.Milliseconds() {
			refusal = longer(refusal, l, r.began)
		}
	}
	return refusal, nil
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
