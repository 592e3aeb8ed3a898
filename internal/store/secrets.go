package store

import (
	"context"
	"crypto/rand"
	"database/sql"
)

// secretSize is how many bytes a secret has.
const secretSize = 32

// Secret returns the 32 random bytes of a name. They are created on first use, and are the
// same for all that share the database.
func (s *State) Secret(ctx context.Context, name string) (secret []byte, err error) {
	fresh := make([]byte, secretSize)
	_, _ = rand.Read(fresh) // never fails
	err = s.db.Write(ctx, "secret", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO secrets (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING`, name, fresh)
		if err != nil {
			return err
		}
		return tx.QueryRowContext(ctx, `SELECT value FROM secrets WHERE name = $1`, name).Scan(&secret)
	})
	return secret, err
}
