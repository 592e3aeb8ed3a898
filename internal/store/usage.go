package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"molar/internal/store/database"
	"molar/schemas"
)

const addUsage = `INSERT INTO usage_days (day, owner, member_of, assistant, provider, model, prompt, cached, completion, cost, calls)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
	ON CONFLICT (day, owner, member_of, assistant, provider, model) DO UPDATE SET
		prompt = usage_days.prompt + excluded.prompt, cached = usage_days.cached + excluded.cached,
		completion = usage_days.completion + excluded.completion, cost = usage_days.cost + excluded.cost, calls = usage_days.calls + excluded.calls`

// AddUsage adds what model calls used. That of an owner who was erased since is nobody's.
func (s *State) AddUsage(ctx context.Context, lines []schemas.UsageLine) error {
	return s.db.WriteRelaxed(ctx, "add up the usage", func(tx *sql.Tx) error { return s.addUsageIn(ctx, tx, lines) })
}

func (s *State) addUsageIn(ctx context.Context, tx *sql.Tx, lines []schemas.UsageLine) error {
	for _, l := range lines {
		if erased, err := erasedIn(ctx, tx, "", l.Owner, l.Since); err != nil {
			return err
		} else if erased {
			l.Owner = "" // the bill adds up
		}
		groups := l.Groups
		if groups == nil {
			groups = []string{}
		}
		memberOf, err := json.Marshal(groups)
		if err != nil {
			return err
		}
		text := s.db.SQL.Text
		if _, err := tx.ExecContext(ctx, addUsage, l.Day, text(l.Owner), text(string(memberOf)), text(l.Assistant), text(l.Provider), text(l.Model),
			l.Prompt, l.Cached, l.Completion, int64(l.Cost), l.Calls); err != nil {
			return err
		}
	}
	return nil
}

const usageColumns = `SELECT day, owner, member_of, assistant, provider, model, prompt, cached, completion, cost, calls FROM usage_days `

func scanUsage(row *sql.Rows) (l schemas.UsageLine, err error) {
	var memberOf string
	if err = row.Scan(&l.Day, &l.Owner, &memberOf, &l.Assistant, &l.Provider, &l.Model, &l.Prompt, &l.Cached, &l.Completion, &l.Cost, &l.Calls); err == nil {
		err = json.Unmarshal([]byte(memberOf), &l.Groups)
	}
	return l, err
}

// Usage returns what everybody's model calls used since a time, by day.
func (s *State) Usage(ctx context.Context, since time.Time) ([]schemas.UsageLine, error) {
	lines, err := database.List(ctx, s.db.Read, scanUsage, usageColumns+`WHERE day >= $1 ORDER BY day, owner, assistant, provider, model`, since.UTC().Format(time.DateOnly))
	return lines, s.db.Fault("read the usage", err)
}

// UsageOf returns what an owner's model calls used since a time, by day.
func (s *State) UsageOf(ctx context.Context, owner string, since time.Time) ([]schemas.UsageLine, error) {
	lines, err := database.List(ctx, s.db.Read, scanUsage, usageColumns+`WHERE owner = $1 AND day >= $2 ORDER BY day, assistant, provider, model`,
		s.db.SQL.Text(owner), since.UTC().Format(time.DateOnly))
	return lines, s.db.Fault("read the usage", err)
}

// keepSums adds what model calls of a list of owners used to the usage of nobody: the bill must add up when
// the owners' own rows are deleted.
func (s *State) keepSums(ctx context.Context, tx *sql.Tx, owners string) error {
	lines, err := database.List(ctx, tx, scanUsage, s.db.SQL.Say(usageColumns+`WHERE owner`+among)+s.db.SQL.ForUpdate, owners)
	if err != nil {
		return err
	}
	for i := range lines {
		lines[i].Owner = ""
	}
	return s.addUsageIn(ctx, tx, lines)
}

// DropUsage deletes usage and budgets of days before a time. It returns how many lines it deleted.
func (s *State) DropUsage(ctx context.Context, before time.Time) (gone int, err error) {
	err = s.db.WriteRelaxed(ctx, "delete old usage", func(tx *sql.Tx) error {
		n, err := database.Changed(tx.ExecContext(ctx, `DELETE FROM usage_days WHERE day < $1`, before.UTC().Format(time.DateOnly)))
		gone = int(n)
		for _, query := range []string{`DELETE FROM budget_use WHERE period < $1`, `DELETE FROM budget_holds WHERE period < $1`} {
			if err == nil {
				_, err = tx.ExecContext(ctx, query, database.Millis(before))
			}
		}
		return err
	})
	return gone, err
}
