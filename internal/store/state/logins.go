package state

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"molar/internal/store/database"
)

// GetLogin returns what is kept of the login at an MCP server, and the revision of
// it; 0 means that there is none.
func (s *Store) GetLogin(ctx context.Context, server string) (state json.RawMessage, revision int64, err error) {
	var text string
	err = s.db.Read.QueryRowContext(ctx, `SELECT state, revision FROM logins WHERE server = $1`, server).Scan(&text, &revision)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, 0, nil
	}
	return json.RawMessage(text), revision, s.db.Fault("read the login at an MCP server", err)
}

// SwapLogin replaces the login at a server, if its revision is still the one given
// (0: if there is none), and ends a lease on it. A nil state deletes it. false means
// that somebody else changed it meanwhile, and that nothing was written.
func (s *Store) SwapLogin(ctx context.Context, server string, revision int64, state json.RawMessage) (swapped bool, err error) {
	err = s.db.Write(ctx, "keep the login at an MCP server", func(tx *sql.Tx) error {
		var res sql.Result
		var err error
		switch {
		case state == nil:
			res, err = tx.ExecContext(ctx, `DELETE FROM logins WHERE server = $1 AND revision = $2`, server, revision)
		case revision == 0:
			// A time, so that a login after a logout is never taken for the one before.
			res, err = tx.ExecContext(ctx, `INSERT INTO logins (server, revision, state) VALUES ($1, $2, $3)
				ON CONFLICT (server) DO NOTHING`, server, s.db.Now().UnixMicro(), s.db.SQL.Text(string(state)))
		default:
			res, err = tx.ExecContext(ctx, `UPDATE logins SET state = $1, revision = revision + 1, lease_until = 0
				WHERE server = $2 AND revision = $3`, s.db.SQL.Text(string(state)), server, revision)
		}
		swapped, err = changedOne(res, err)
		return err
	})
	return swapped, err
}

// LeaseLogin lets one process at a time renew a login, for at most life. false means
// that another holds the lease, or that the revision is no longer the one given.
func (s *Store) LeaseLogin(ctx context.Context, server string, revision int64, life time.Duration) (leased bool, err error) {
	err = s.db.Write(ctx, "lease the login at an MCP server", func(tx *sql.Tx) error {
		now := s.db.Now()
		res, err := tx.ExecContext(ctx, `UPDATE logins SET lease_until = $1 WHERE server = $2 AND revision = $3 AND lease_until <= $4`,
			database.Millis(now.Add(life)), server, revision, database.Millis(now))
		leased, err = changedOne(res, err)
		return err
	})
	return leased, err
}

// changedOne reports whether a statement changed a row.
func changedOne(res sql.Result, err error) (bool, error) {
	n, err := database.Changed(res, err)
	return n == 1, err
}
