package store

import (
	"context"
	"database/sql"

	"molar/internal/store/database"
	"molar/schemas"
)

// Refusals reads all refusals.
func (s *State) Refusals(ctx context.Context) ([]schemas.Refusal, error) {
	all, err := database.List(ctx, s.db.Read, func(row *sql.Rows) (r schemas.Refusal, err error) {
		var at int64
		err = row.Scan(&r.Provider, &r.Tool, &r.Digest, &r.Reason, &at)
		r.At = database.TimeAt(at)
		return r, err
	}, `SELECT provider, tool, digest, reason, refused_at FROM tool_refusals ORDER BY provider, tool`)
	return all, s.db.Fault("read which tools were refused", err)
}

// KeepRefusal stores a refusal in place of an older one of the same tool, and deletes expired
// ones.
func (s *State) KeepRefusal(ctx context.Context, r schemas.Refusal) error {
	return s.db.Write(ctx, "keep that a tool was refused", func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `DELETE FROM tool_refusals WHERE refused_at <= $1`, database.Millis(r.At.Add(-schemas.RefusalTime))); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO tool_refusals (provider, tool, digest, reason, refused_at)
			VALUES ($1, $2, $3, $4, $5)
			ON CONFLICT (provider, tool) DO UPDATE SET digest = excluded.digest, reason = excluded.reason, refused_at = excluded.refused_at`,
			r.Provider, s.db.SQL.Text(r.Tool), r.Digest, s.db.SQL.Text(r.Reason), database.Millis(r.At))
		return err
	})
}

// DropRefusals deletes the refusals of a tool, of every tool if it is "".
func (s *State) DropRefusals(ctx context.Context, tool string) error {
	_, err := s.db.Exec(ctx, "forget which tools were refused", `DELETE FROM tool_refusals WHERE $1 = '' OR tool = $1`, s.db.SQL.Text(tool))
	return err
}
