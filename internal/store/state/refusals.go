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
	all, err := database.List(ctx, s.db.Read, func(row *sql.Rows) (r Refusal, err error) {
		err = row.Scan(&r.Provider, &r.Tool, &r.Digest, &r.Reason)
		return r, err
	}, `SELECT provider, tool, digest, reason FROM tool_refusals ORDER BY provider, tool`)
	return all, s.db.Fault("read which tools were refused", err)
}

// KeepRefusal stores a refusal in the place of an older one of the same tool.
func (s *Store) KeepRefusal(ctx context.Context, r Refusal) error {
	_, err := s.db.Exec(ctx, "keep that a tool was refused", `INSERT INTO tool_refusals (provider, tool, digest, reason, refused_at)
		VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (provider, tool) DO UPDATE SET digest = excluded.digest, reason = excluded.reason, refused_at = excluded.refused_at`,
		r.Provider, r.Tool, r.Digest, r.Reason, database.Millis(s.db.Now()))
	return err
}
