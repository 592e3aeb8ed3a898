package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"molar/internal/store/database"
	"molar/schemas"
)

// RotateKey gives the key with that name or id a new hash, and records it in the audit. The hash before
// works until a time; one that was before that ends. It returns the key as it was; if there is none the
// error is ErrNoKey.
func (s *State) RotateKey(ctx context.Context, nameOrID, hash string, until time.Time) (APIKey, error) {
	var was APIKey
	err := s.db.Write(ctx, "rotate API key", func(tx *sql.Tx) error {
		found, err := database.List(ctx, tx, func(row *sql.Rows) (k APIKey, err error) {
			return k, row.Scan(&k.ID, &k.Name, &k.Hash)
		}, `SELECT id, name, hash FROM api_keys WHERE session = 0 AND (id = $1 OR name = $1)`, nameOrID)
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return fmt.Errorf("%w: %q", ErrNoKey, nameOrID)
		}
		was = found[0]
		if _, err := tx.ExecContext(ctx, `UPDATE api_keys SET hash = $1, previous = $2, previous_until = $3 WHERE id = $4`,
			hash, was.Hash, database.Millis(until), was.ID); err != nil {
			return err
		}
		line := keyLine(was, schemas.EventKeyRotated, "")
		line.Detail += ", the key before works until " + until.UTC().Format(time.RFC3339)
		return s.auditIn(ctx, tx, line)
	})
	return was, err
}
