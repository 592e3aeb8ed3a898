package store

import (
	"cmp"
	"context"
	"database/sql"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"molar/internal/store/database"
	"molar/schemas"
)

const (
	// holdFor is how long a reservation counts if it is neither settled nor renewed: its process has died.
	holdFor = 10 * time.Minute
	// lateSettle is how long an expired reservation is kept, so that a call that settles late is counted.
	lateSettle = 24 * time.Hour
	// warnAt is the share of a budget at which it warns.
	warnAt = 0.8
)

// TakeBudget reserves the estimate of a call in all budgets, or in none. A call may begin as long as
// what is used and what is reserved are below the limit, so a budget is exceeded by one call at most.
// The database's clock tells the period. If warn is set, budgets that have reached their warning
// for the first time in the period are named.
func (s *State) TakeBudget(ctx context.Context, budgets []schemas.NamedBudget, estimate schemas.BudgetSum, warn bool) (hold schemas.BudgetHold, refusal *schemas.BudgetRefusal, err error) {
	// All lock the rows in one order.
	budgets = slices.SortedFunc(slices.Values(budgets), func(a, b schemas.NamedBudget) int { return cmp.Compare(a.Name, b.Name) })
	err = s.db.WriteRelaxed(ctx, "take from the budgets", func(tx *sql.Tx) error {
		hold, refusal = schemas.BudgetHold{ID: uuid.NewString(), Periods: map[string]time.Time{}, Used: map[string]float64{}}, nil
		var millis int64
		if err := tx.QueryRowContext(ctx, s.db.SQL.Say(`SELECT CAST(NOW() AS BIGINT)`), s.db.Clock()).Scan(&millis); err != nil {
			return err
		}
		now := database.TimeAt(millis)
		for _, b := range budgets {
			left, err := s.lookAtBudget(ctx, tx, b, now)
			if err != nil {
				return err
			}
			if refusal == nil {
				refusal = left.refusal
			}
			hold.Periods[b.Name], hold.Used[b.Name] = left.begin, left.used
			if warn && left.warns {
				hold.Warn = append(hold.Warn, b.Name)
			}
		}
		if refusal != nil {
			return nil
		}
		for _, b := range budgets {
			period := database.Millis(hold.Periods[b.Name])
			if _, err := tx.ExecContext(ctx, `INSERT INTO budget_holds (id, name, period, tokens, cost, expires) VALUES ($1, $2, $3, $4, $5, $6)`,
				hold.ID, b.Name, period, estimate.Tokens, int64(estimate.Cost), millis+holdFor.Milliseconds()); err != nil {
				return err
			}
			if !slices.Contains(hold.Warn, b.Name) {
				continue
			}
			if _, err := tx.ExecContext(ctx, `UPDATE budget_use SET warned = 1 WHERE name = $1 AND period = $2`, b.Name, period); err != nil {
				return err
			}
		}
		return nil
	})
	return hold, refusal, err
}

// A budgetState is how much of a budget is used.
type budgetState struct {
	begin   time.Time
	used    float64
	warns   bool
	refusal *schemas.BudgetRefusal
}

// lookAtBudget reads a budget, and locks its row until the transaction ends.
func (s *State) lookAtBudget(ctx context.Context, tx *sql.Tx, b schemas.NamedBudget, now time.Time) (state budgetState, err error) {
	begin, ends := b.Period(now)
	period, millis := database.Millis(begin), database.Millis(now)
	if _, err = tx.ExecContext(ctx, `INSERT INTO budget_use (name, period) VALUES ($1, $2) ON CONFLICT DO NOTHING`, b.Name, period); err != nil {
		return state, err
	}
	var used, held schemas.BudgetSum
	var warned bool
	if err = tx.QueryRowContext(ctx, `SELECT tokens, cost, warned <> 0 FROM budget_use WHERE name = $1 AND period = $2`+s.db.SQL.ForUpdate, b.Name, period).
		Scan(&used.Tokens, &used.Cost, &warned); err != nil {
		return state, err
	}
	if _, err = tx.ExecContext(ctx, `DELETE FROM budget_holds WHERE name = $1 AND period = $2 AND expires <= $3`, b.Name, period, millis-lateSettle.Milliseconds()); err != nil {
		return state, err
	}
	if err = tx.QueryRowContext(ctx, `SELECT CAST(coalesce(sum(tokens), 0) AS BIGINT), CAST(coalesce(sum(cost), 0) AS BIGINT) FROM budget_holds WHERE name = $1 AND period = $2 AND expires > $3`, b.Name, period, millis).
		Scan(&held.Tokens, &held.Cost); err != nil {
		return state, err
	}
	state.begin = begin
	both := schemas.BudgetSum{Tokens: used.Tokens + held.Tokens, Cost: used.Cost + held.Cost}
	if shareOf(b.Budget, both) >= 1 {
		state.refusal = &schemas.BudgetRefusal{Budget: b, Ends: ends, Now: now, Held: shareOf(b.Budget, used) < 1}
	}
	state.used = shareOf(b.Budget, both)
	state.warns = !warned && shareOf(b.Budget, used) >= warnAt
	return state, nil
}

// shareOf returns the share of a budget that a sum is.
func shareOf(b schemas.Budget, sum schemas.BudgetSum) (share float64) {
	if b.Tokens > 0 {
		share = float64(sum.Tokens) / float64(b.Tokens)
	}
	if b.Money > 0 {
		share = max(share, sum.Cost.Amount()/b.Money)
	}
	return share
}

// SettleBudget replaces what a call had reserved by what it used, in the periods in which it began. What
// is settled already stays so: the answer to the first try may have been lost. Budgets in hold.Warn warn
// again.
func (s *State) SettleBudget(ctx context.Context, hold schemas.BudgetHold, used schemas.BudgetSum) error {
	return s.db.WriteRelaxed(ctx, "settle with the budgets", func(tx *sql.Tx) error {
		for _, name := range slices.Sorted(maps.Keys(hold.Periods)) {
			period := database.Millis(hold.Periods[name])
			held, err := database.Changed(tx.ExecContext(ctx, `DELETE FROM budget_holds WHERE name = $1 AND period = $2 AND id = $3`, name, period, hold.ID))
			if err != nil {
				return err
			}
			if held == 0 {
				continue
			}
			said := 1
			if slices.Contains(hold.Warn, name) {
				said = 0
			}
			if _, err := tx.ExecContext(ctx, `UPDATE budget_use SET tokens = tokens + $3, cost = cost + $4, warned = warned * $5 WHERE name = $1 AND period = $2`,
				name, period, used.Tokens, int64(used.Cost), said); err != nil {
				return err
			}
		}
		return nil
	})
}

// RenewBudgets lets the reservations with these ids count for longer: their calls still run.
func (s *State) RenewBudgets(ctx context.Context, holds []string) error {
	return s.db.WriteRelaxed(ctx, "renew the reservations in budgets", func(tx *sql.Tx) error {
		for _, id := range holds {
			if _, err := tx.ExecContext(ctx, s.db.SQL.Say(`UPDATE budget_holds SET expires = CAST(NOW() AS BIGINT) + $2 WHERE id = $3`), s.db.Clock(), holdFor.Milliseconds(), id); err != nil {
				return err
			}
		}
		return nil
	})
}
