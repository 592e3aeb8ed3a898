package store

import (
	"context"
	"time"

	"molar/internal/store/database"
)

// A PersonLogin is a person's login at an MCP server. The state is encrypted by whoever stores it.
type PersonLogin struct {
	Server string
	State  string
	// Since is when the person logged in.
	Since time.Time
}

// GetPersonLogin returns a person's encrypted login at a server, and its revision; 0 means that there
// is none.
func (s *State) GetPersonLogin(ctx context.Context, owner, server string) (state string, revision int64, err error) {
	err = s.db.Read.QueryRowContext(ctx, `SELECT state, revision FROM person_logins WHERE owner = $1 AND server = $2`, owner, server).Scan(&state, &revision)
	_, err = s.db.Found("read a person's login at an MCP server", err)
	return state, revision, err
}

// SwapPersonLogin replaces a person's login if its revision is still the one given (0: if there is
// none), and ends a lease on it. An empty state deletes it. false means that it was changed
// meanwhile, and that nothing was written.
func (s *State) SwapPersonLogin(ctx context.Context, owner, server string, revision int64, state string) (swapped bool, err error) {
	const op = "keep a person's login at an MCP server"
	var n int64
	switch {
	case state == "":
		n, err = s.db.Exec(ctx, op, `DELETE FROM person_logins WHERE owner = $1 AND server = $2 AND revision = $3`, owner, server, revision)
	case revision == 0:
		// A time, so that a login after a logout never has the revision of the one before.
		n, err = s.db.Exec(ctx, op, `INSERT INTO person_logins (owner, server, revision, state) VALUES ($1, $2, $3, $4)
			ON CONFLICT (owner, server) DO NOTHING`, owner, server, s.db.Now().UnixMicro(), state)
	default:
		n, err = s.db.Exec(ctx, op, `UPDATE person_logins SET state = $1, revision = revision + 1, lease_until = 0
			WHERE owner = $2 AND server = $3 AND revision = $4`, state, owner, server, revision)
	}
	return n == 1, err
}

// LeasePersonLogin lets one process at a time renew a person's login, for at most life. false means
// that another holds the lease, or that the revision is no longer the one given.
func (s *State) LeasePersonLogin(ctx context.Context, owner, server string, revision int64, life time.Duration) (leased bool, err error) {
	now := s.db.Now()
	n, err := s.db.Exec(ctx, "lease a person's login at an MCP server", `UPDATE person_logins SET lease_until = $1
		WHERE owner = $2 AND server = $3 AND revision = $4 AND lease_until <= $5`,
		database.Millis(now.Add(life)), owner, server, revision, database.Millis(now))
	return n == 1, err
}

// ListPersonLogins returns a person's logins, by server. The revision of a login is the time at which
// it was made, and each renewal adds one microsecond to it.
func (s *State) ListPersonLogins(ctx context.Context, owner string) ([]PersonLogin, error) {
	const op = "list a person's logins at MCP servers"
	rows, err := s.db.Read.QueryContext(ctx, `SELECT server, state, revision FROM person_logins WHERE owner = $1 ORDER BY server`, owner)
	if err != nil {
		return nil, s.db.Fault(op, err)
	}
	defer rows.Close()
	var logins []PersonLogin
	for rows.Next() {
		var l PersonLogin
		var revision int64
		if err := rows.Scan(&l.Server, &l.State, &revision); err != nil {
			return nil, s.db.Fault(op, err)
		}
		l.Since = time.UnixMicro(revision)
		logins = append(logins, l)
	}
	return logins, s.db.Fault(op, rows.Err())
}

// DeletePersonLogins deletes all logins of a person and returns how many there were.
func (s *State) DeletePersonLogins(ctx context.Context, owner string) (int64, error) {
	return s.db.Exec(ctx, "delete a person's logins at MCP servers", `DELETE FROM person_logins WHERE owner = $1`, owner)
}
