package store

import (
	"context"
	"database/sql"
	"errors"

	"molar/internal/store/database"
	"molar/schemas"
)

// PutMadeFile notes a file that a reviewer made of a turn, for an erasure of whoever asked. Nothing is
// noted of an unknown turn.
func (s *State) PutMadeFile(ctx context.Context, f schemas.MadeFile) error {
	return s.db.Write(ctx, "note a reviewer's file", func(tx *sql.Tx) error {
		var owner, conversation string
		err := tx.QueryRowContext(ctx, turnKnown, f.TurnID).Scan(&owner, &conversation)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err == nil {
			_, err = tx.ExecContext(ctx, `INSERT INTO made_files (turn_id, kind, path, owner, made_at) VALUES ($1, $2, $3, $4, $5)
				ON CONFLICT (turn_id, kind, path) DO UPDATE SET made_at = excluded.made_at`,
				f.TurnID, f.Kind, s.db.SQL.Text(f.Path), owner, database.Millis(s.db.Now()))
		}
		return err
	})
}

// MadeFiles returns the files that reviewers made of an owner's turns, the oldest first.
func (s *State) MadeFiles(ctx context.Context, owner string) ([]schemas.MadeFile, error) {
	return s.madeFiles(ctx, "owner = $1", s.db.SQL.Text(owner))
}

// MadeOf returns the files that reviewers made of some turns, the oldest first.
func (s *State) MadeOf(ctx context.Context, turnIDs []string) ([]schemas.MadeFile, error) {
	among, ids := oneOf("turn_id", append([]string{}, turnIDs...), 1)
	return s.madeFiles(ctx, "1 = 1"+among, ids...)
}

func (s *State) madeFiles(ctx context.Context, condition string, args ...any) ([]schemas.MadeFile, error) {
	files, err := database.List(ctx, s.db.Read, func(row *sql.Rows) (f schemas.MadeFile, err error) {
		var at int64
		err = row.Scan(&f.TurnID, &f.Kind, &f.Path, &at)
		f.MadeAt = database.TimeAt(at)
		return f, err
	}, `SELECT turn_id, kind, path, made_at FROM made_files WHERE `+condition+` ORDER BY made_at, turn_id, kind, path`, args...)
	return files, s.db.Fault("list reviewers' files", err)
}
