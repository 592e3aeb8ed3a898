package store

import (
	"context"
	"database/sql"

	"molar/internal/store/database"
	"molar/schemas"
)

// Ask records a pending approval or question of a turn of this process, which keeps it pending by
// calling [Live.Decided].
func (s *Live) Ask(ctx context.Context, a schemas.LiveAsk) error {
	_, err := s.write(ctx, "note an approval", `INSERT INTO live_approvals (id, turn_id, owner, body, replica, beat_at)
		VALUES ($2, $3, $4, $5, $6, NOW())`, s.db.Clock(), a.ID, a.TurnID, a.Owner, s.db.SQL.Text(a.Body), s.replica)
	return err
}

// Settle deletes one that is no longer pending.
func (s *Live) Settle(ctx context.Context, id string) error {
	_, err := s.write(ctx, "settle an approval", `DELETE FROM live_approvals WHERE id = $1 AND decision = ''`, id)
	return err
}

// askColumns are those of a [schemas.LiveAsk].
const askColumns = `id, turn_id, owner, body, decision`

// Waiting returns an owner's pending approvals and questions, of all replicas that are alive.
func (s *Live) Waiting(ctx context.Context, owner string) ([]schemas.LiveAsk, error) {
	// A replica of an earlier version only says that the turn itself is alive.
	return s.asks(ctx, s.db.Read, `SELECT `+askColumns+` FROM live_approvals a WHERE owner = $2 AND decision = '' AND (beat_at > NOW() - $3
		OR replica = '' AND EXISTS (SELECT 1 FROM live_turns t WHERE t.id = a.turn_id AND t.ended_at = 0))`,
		owner, staleAfter.Milliseconds())
}

// ForApprovers returns the pending approvals of all owners that name approvers, of all replicas that are
// alive.
func (s *Live) ForApprovers(ctx context.Context) ([]schemas.LiveAsk, error) {
	return s.asks(ctx, s.db.Read, `SELECT `+askColumns+` FROM live_approvals WHERE decision = '' AND beat_at > NOW() - $2 AND body LIKE '%"approvers":%'`,
		staleAfter.Milliseconds())
}

// Decided says that the approvals and questions of this process are still pending. It returns those
// with a decision from another replica that this process has not replied to yet.
func (s *Live) Decided(ctx context.Context) ([]schemas.LiveAsk, error) {
	return s.asks(ctx, s.db.Relaxed, `WITH mine AS (
			UPDATE live_approvals SET beat_at = NOW() WHERE replica = $2 RETURNING `+askColumns+`, outcome
		) SELECT `+askColumns+` FROM mine WHERE decision <> '' AND outcome = ''`, s.replica)
}

// asks runs a query whose first parameter is the current time.
func (s *Live) asks(ctx context.Context, pool *sql.DB, query string, args ...any) ([]schemas.LiveAsk, error) {
	all, err := database.List(ctx, pool, func(row *sql.Rows) (a schemas.LiveAsk, err error) {
		err = row.Scan(&a.ID, &a.TurnID, &a.Owner, &a.Body, &a.Decision)
		return a, err
	}, s.db.SQL.Say(query), append([]any{s.db.Clock()}, args...)...)
	return all, s.db.Fault("read approvals", err)
}

// Decide stores a decision for the replica that runs the turn, and reports whether it is the
// first.
func (s *Live) Decide(ctx context.Context, id, decision string) (first bool, err error) {
	n, err := s.write(ctx, "decide about a call", `UPDATE live_approvals SET decision = $2, outcome = '' WHERE id = $1 AND decision = ''`,
		id, s.db.SQL.Text(decision))
	return n == 1, err
}

// Answer stores the reply to another replica's decision.
func (s *Live) Answer(ctx context.Context, id, outcome string) error {
	_, err := s.write(ctx, "answer a decision", `UPDATE live_approvals SET outcome = $2 WHERE id = $1`, id, s.db.SQL.Text(outcome))
	return err
}

// Outcome reads the reply to a decision; empty until there is one.
func (s *Live) Outcome(ctx context.Context, id string) (outcome string, err error) {
	err = s.db.Read.QueryRowContext(ctx, `SELECT outcome FROM live_approvals WHERE id = $1`, id).Scan(&outcome)
	_, err = s.db.Found("read the answer to a decision", err)
	return outcome, err
}

// Reopen makes one pending again whose decision was rejected.
func (s *Live) Reopen(ctx context.Context, id string) error {
	_, err := s.write(ctx, "reopen an approval", `UPDATE live_approvals SET decision = '', outcome = '' WHERE id = $1`, id)
	return err
}
