package store

import (
	"context"
	"database/sql"

	"molar/internal/store/database"
	"molar/schemas"
)

// Ask records a pending approval or question of a turn of this process.
func (s *Live) Ask(ctx context.Context, a schemas.LiveAsk) error {
	_, err := s.write(ctx, "note an approval", `INSERT INTO live_approvals (id, turn_id, owner, body) VALUES ($1, $2, $3, $4)`,
		a.ID, a.TurnID, a.Owner, s.db.SQL.Text(a.Body))
	return err
}

// Settle deletes one that is no longer pending.
func (s *Live) Settle(ctx context.Context, id string) error {
	_, err := s.write(ctx, "settle an approval", `DELETE FROM live_approvals WHERE id = $1 AND decision = ''`, id)
	return err
}

// Waiting returns an owner's pending approvals and questions, of all replicas.
func (s *Live) Waiting(ctx context.Context, owner string) ([]schemas.LiveAsk, error) {
	return s.approvals(ctx, `SELECT a.id, a.turn_id, a.owner, a.body, a.decision FROM live_approvals a JOIN live_turns t ON t.id = a.turn_id
		WHERE a.owner = $1 AND a.decision = '' AND t.ended_at = 0`, owner)
}

// Decided returns those of this process with a decision from another replica that this process
// has not replied to yet.
func (s *Live) Decided(ctx context.Context) ([]schemas.LiveAsk, error) {
	return s.approvals(ctx, `SELECT a.id, a.turn_id, a.owner, a.body, a.decision FROM live_approvals a JOIN live_turns t ON t.id = a.turn_id
		WHERE t.replica = $1 AND a.decision <> '' AND a.outcome = ''`, s.replica)
}

func (s *Live) approvals(ctx context.Context, query, arg string) ([]schemas.LiveAsk, error) {
	all, err := database.List(ctx, s.db.Read, func(row *sql.Rows) (a schemas.LiveAsk, err error) {
		err = row.Scan(&a.ID, &a.TurnID, &a.Owner, &a.Body, &a.Decision)
		return a, err
	}, query, arg)
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
