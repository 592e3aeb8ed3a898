package state

import (
	"context"
	"database/sql"

	"molar/internal/store/database"
)

// A Refusal says that the service of a provider refused a tool, whose definition had a
// digest then.
type Refusal struct{ Provider, Tool, Digest, Reason string }

// Refusals reads all of them.
func (s *Store) Refusals(ctx context.Context) ([]Refusal, error) {
	const op = "read which tools were refused"
	rows, err := s.db.Read.QueryContext(ctx, `SELECT provider, tool, digest, reason FROM tool_refusals ORDER BY provider, tool`)
	if err != nil {
		return nil, s.db.Fault(op, err)
	}
	defer rows.Close()
	var all []Refusal
	for rows.Next() {
		var r Refusal
		if err := rows.Scan(&r.Provider, &r.Tool, &r.Digest, &r.Reason); err != nil {
			return nil, s.db.Fault(op, err)
		}
		all = append(all, r)
	}
	return all, s.db.Fault(op, rows.Err())
}

// KeepRefusal stores a refusal in the place of an older one of the same tool.
func (s *Store) KeepRefusal(ctx context.Context, r Refusal) error {
	return s.db.Write(ctx, "keep that a tool was refused", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO tool_refusals (provider, tool, digest, reason, refused_at) VALUES ($1, $2, $3, $4, $5)
			ON CONFLICT (provider, tool) DO UPDATE SET digest = excluded.digest, reason = excluded.reason, refused_at = excluded.refused_at`,
			r.Provider, r.Tool, r.Digest, r.Reason, database.Millis(s.db.Now()))
		return err
	})
}
