package store

import (
	"context"
	"encoding/json"
	"time"

	"molar/internal/store/database"
)

// GetLogin returns the stored login at an MCP server, and its revision; 0 means that there is
// none.
func (s *State) GetLogin(ctx context.Context, server string) (state json.RawMessage, revision int64, err error) {
	var text string
	err = s.db.Read.QueryRowContext(ctx, `SELECT state, revision FROM logins WHERE server = $1`, server).Scan(&text, &revision)
	_, err = s.db.Found("read the login at an MCP server", err)
	return json.RawMessage(text), revision, err
}

// SwapLogin replaces the login at a server, if its revision is still the one given (0: if
// there is none), and ends a lease on it. A nil state deletes it. false means that it was
// changed meanwhile, and that nothing was written.
func (s *State) SwapLogin(ctx context.Context, server string, revision int64, state json.RawMessage) (swapped bool, err error) {
	const op = "keep the login at an MCP server"
	var n int64
	switch {
	case state == nil:
		n, err = s.db.Exec(ctx, op, `DELETE FROM logins WHERE server = $1 AND revision = $2`, server, revision)
	case revision == 0:
		// A time, so that a login after a logout never has the revision of the one before.
		n, err = s.db.Exec(ctx, op, `INSERT INTO logins (server, revision, state) VALUES ($1, $2, $3)
			ON CONFLICT (server) DO NOTHING`, server, s.db.Now().UnixMicro(), s.db.SQL.Text(string(state)))
	default:
		n, err = s.db.Exec(ctx, op, `UPDATE logins SET state = $1, revision = revision + 1, lease_until = 0
			WHERE server = $2 AND revision = $3`, s.db.SQL.Text(string(state)), server, revision)
	}
	return n == 1, err
}

// LeaseLogin lets one process at a time renew a login, for at most life. false means
// that another holds the lease, or that the revision is no longer the one given.
func (s *State) LeaseLogin(ctx context.Context, server string, revision int64, life time.Duration) (leased bool, err error) {
	now := s.db.Now()
	n, err := s.db.Exec(ctx, "lease the login at an MCP server", `UPDATE logins SET lease_until = $1
		WHERE server = $2 AND revision = $3 AND lease_until <= $4`,
		database.Millis(now.Add(life)), server, revision, database.Millis(now))
	return n == 1, err
}
