package store

import (
	"context"
	"database/sql"
	"errors"

	"molar/schemas"
)

// ServerProtocol returns what was learnt of the server at a place, or nothing.
func (s *State) ServerProtocol(ctx context.Context, server, place string) (p schemas.ServerProtocol, err error) {
	err = s.db.Read.QueryRowContext(ctx, `SELECT revision, version FROM server_protocols WHERE server = $1 AND place = $2`, server, place).
		Scan(&p.Revision, &p.Version)
	if errors.Is(err, sql.ErrNoRows) {
		return p, nil
	}
	return p, s.db.Fault("read the protocol of a server", err)
}

// KeepServerProtocol replaces what was learnt of the server, also at another place.
func (s *State) KeepServerProtocol(ctx context.Context, server, place string, p schemas.ServerProtocol) error {
	_, err := s.db.Exec(ctx, "keep the protocol of a server", `INSERT INTO server_protocols (server, place, revision, version) VALUES ($1, $2, $3, $4)
		ON CONFLICT (server) DO UPDATE SET place = excluded.place, revision = excluded.revision, version = excluded.version`,
		server, place, p.Revision, s.db.SQL.Text(p.Version))
	return err
}
