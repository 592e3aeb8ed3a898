package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"molar/internal/store/database"
	"molar/schemas"
)

const (
	// vectorTouch is how old the note may be that a vector was used: each note writes it whole again.
	vectorTouch = 10 * 24 * time.Hour
	// vectorBatch is how many vectors one transaction deletes.
	vectorBatch = 5000
)

// Vectors returns those of a model's vectors that are stored, by their hashes, and notes that they are used.
func (s *State) Vectors(ctx context.Context, model string, hashes []string) ([]schemas.Vector, error) {
	const op = "read vectors"
	list, err := json.Marshal(append([]string{}, hashes...)) // never null
	if err != nil {
		return nil, s.db.Fault(op, err)
	}
	stale, old := 0, database.Millis(s.db.Now().Add(-vectorTouch))
	vectors, err := database.List(ctx, s.db.Read, func(row *sql.Rows) (v schemas.Vector, err error) {
		var used int64
		err = row.Scan(&v.Hash, &v.Data, &used)
		if used < old {
			stale++
		}
		return v, err
	}, s.db.SQL.Say(`SELECT hash, data, used_at FROM vectors WHERE model = $1 AND hash IN (SELECT value FROM EACH($2) AS named)`), s.db.SQL.Text(model), string(list))
	if err != nil || stale == 0 {
		return vectors, s.db.Fault(op, err)
	}
	if err = s.db.WriteRelaxed(ctx, "note that vectors are used", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, s.db.SQL.Say(`UPDATE vectors SET used_at = $3 WHERE model = $1 AND hash IN (SELECT value FROM EACH($2) AS named) AND used_at < $4`),
			s.db.SQL.Text(model), string(list), database.Millis(s.db.Now()), old)
		return err
	}); err != nil && ctx.Err() == nil { // the next use notes it
		s.db.Log.WarnContext(ctx, "the database cannot note that vectors are used", "error", err)
	}
	return vectors, nil
}

// KeepVectors stores vectors of a model, in place of older ones of the same texts.
func (s *State) KeepVectors(ctx context.Context, model string, vectors []schemas.Vector) error {
	return s.db.WriteRelaxed(ctx, "keep vectors", func(tx *sql.Tx) error {
		for _, v := range vectors {
			if _, err := tx.ExecContext(ctx, `INSERT INTO vectors (model, hash, data, used_at) VALUES ($1, $2, $3, $4)
				ON CONFLICT (model, hash) DO UPDATE SET data = excluded.data, used_at = excluded.used_at`,
				s.db.SQL.Text(model), v.Hash, v.Data, database.Millis(s.db.Now())); err != nil {
				return err
			}
		}
		return nil
	})
}

// DropVectors deletes the vectors that no folder has used since a time, in batches, and returns how many.
func (s *State) DropVectors(ctx context.Context, before time.Time) (gone int, err error) {
	for {
		n, err := s.dropVectors(ctx, before)
		if gone += n; err != nil || n < vectorBatch {
			return gone, err
		}
	}
}

func (s *State) dropVectors(ctx context.Context, before time.Time) (int, error) {
	var n int64
	err := s.db.WriteRelaxed(ctx, "delete unused vectors", func(tx *sql.Tx) (err error) {
		n, err = database.Changed(tx.ExecContext(ctx, `DELETE FROM vectors WHERE (model, hash) IN
			(SELECT model, hash FROM vectors WHERE used_at < $1 ORDER BY used_at LIMIT $2)`, database.Millis(before), vectorBatch))
		return err
	})
	return int(n), err
}
