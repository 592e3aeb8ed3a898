package store

import (
	"context"
	"database/sql"
	"encoding/json"

	"molar/internal/store/database"
)

// An AddedServer is an MCP server that the operator added by its address.
type AddedServer struct {
	Name    string            `json:"-"`
	URL     string            `json:"url"`
	Type    string            `json:"type,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
}

// AddServer stores a server in place of one with that name.
func (s *State) AddServer(ctx context.Context, a AddedServer) error {
	settings, err := json.Marshal(a)
	if err != nil {
		return err
	}
	_, err = s.db.Exec(ctx, "keep a server", `INSERT INTO added_servers (name, settings, added_at) VALUES ($1, $2, $3)
		ON CONFLICT (name) DO UPDATE SET settings = excluded.settings`, a.Name, s.db.SQL.Text(string(settings)), database.Millis(s.db.Now()))
	return err
}

// RemoveServer deletes a server, with its pins, switches and login; ok is false if there was
// none with that name.
func (s *State) RemoveServer(ctx context.Context, name string) (ok bool, err error) {
	err = s.db.Write(ctx, "forget a server", func(tx *sql.Tx) error {
		n, err := database.Changed(tx.ExecContext(ctx, `DELETE FROM added_servers WHERE name = $1`, name))
		if ok = n > 0; !ok || err != nil {
			return err
		}
		_, err = forgetServer(ctx, tx, name)
		return err
	})
	return ok, err
}

// ForgetServer deletes what is stored about a server of the config file: its pins, marks, switches and
// logins. ok is false if there was nothing.
func (s *State) ForgetServer(ctx context.Context, name string) (ok bool, err error) {
	err = s.db.Write(ctx, "forget a server", func(tx *sql.Tx) error {
		ok, err = forgetServer(ctx, tx, name)
		return err
	})
	return ok, err
}

func forgetServer(ctx context.Context, tx *sql.Tx, name string) (found bool, err error) {
	for _, statement := range []string{
		`DELETE FROM tool_pins WHERE server = $1`, `DELETE FROM server_marks WHERE server = $1`, `DELETE FROM tool_switches WHERE server = $1`,
		`DELETE FROM logins WHERE server = $1`, `DELETE FROM person_logins WHERE server = $1`, `DELETE FROM server_protocols WHERE server = $1`,
	} {
		n, err := database.Changed(tx.ExecContext(ctx, statement, name))
		if err != nil {
			return false, err
		}
		found = found || n > 0
	}
	return found, nil
}

// AddedServers returns all added servers, by name.
func (s *State) AddedServers(ctx context.Context) ([]AddedServer, error) {
	all, err := database.List(ctx, s.db.Read, func(row *sql.Rows) (a AddedServer, err error) {
		var settings string
		if err = row.Scan(&a.Name, &settings); err == nil {
			err = json.Unmarshal([]byte(settings), &a)
		}
		return a, err
	}, `SELECT name, settings FROM added_servers ORDER BY name`)
	return all, s.db.Fault("list added servers", err)
}
