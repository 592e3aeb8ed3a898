package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"math"

	"molar/internal/store/database"
	"molar/schemas"
)

// ToolDecisions reads all decisions about tools.
func (s *State) ToolDecisions(ctx context.Context) (schemas.ToolDecisions, error) {
	return s.toolDecisions(ctx, math.MaxInt32)
}

// ToolDigests reads them without the texts of definitions, for frequent readers.
func (s *State) ToolDigests(ctx context.Context) (schemas.ToolDecisions, error) {
	const sum = 64 // SHA-256 in hexadecimal
	return s.toolDecisions(ctx, sum)
}

// toolDecisions reads at most so many bytes of each pin.
func (s *State) toolDecisions(ctx context.Context, most int) (schemas.ToolDecisions, error) {
	const op = "read the switches of tools"
	all := schemas.ToolDecisions{Off: map[schemas.ToolRef]bool{}, Pins: map[string]map[string]string{}}
	rows, err := s.db.Read.QueryContext(ctx, `SELECT server, tool, '' FROM tool_switches
		UNION ALL SELECT server, tool, substr(digest, 1, CAST($1 AS INTEGER)) FROM tool_pins`, most)
	if err != nil {
		return all, s.db.Fault(op, err)
	}
	defer rows.Close()
	for rows.Next() {
		var ref schemas.ToolRef
		var digest string
		if err := rows.Scan(&ref.Server, &ref.Tool, &digest); err != nil {
			return all, s.db.Fault(op, err)
		}
		switch {
		case digest == "":
			all.Off[ref] = true
		case all.Pins[ref.Server] == nil:
			all.Pins[ref.Server] = map[string]string{ref.Tool: digest}
		default:
			all.Pins[ref.Server][ref.Tool] = digest
		}
	}
	if err := rows.Err(); err != nil {
		return all, s.db.Fault(op, err)
	}
	return s.confirmations(ctx, all)
}

// confirmations adds what people have confirmed about servers.
func (s *State) confirmations(ctx context.Context, all schemas.ToolDecisions) (schemas.ToolDecisions, error) {
	const op = "read what was confirmed about servers"
	all.Confirmed = map[string]schemas.Confirmation{}
	rows, err := s.db.Read.QueryContext(ctx, `SELECT server, marks FROM server_marks`)
	if err != nil {
		return all, s.db.Fault(op, err)
	}
	defer rows.Close()
	for rows.Next() {
		var server, marks string
		if err := rows.Scan(&server, &marks); err != nil {
			return all, s.db.Fault(op, err)
		}
		var c schemas.Confirmation
		if json.Unmarshal([]byte(marks), &c) == nil { // else it counts as not confirmed
			all.Confirmed[server] = c
		}
	}
	return all, s.db.Fault(op, rows.Err())
}

// KeepConfirmation replaces what was confirmed about a server.
func (s *State) KeepConfirmation(ctx context.Context, server string, c schemas.Confirmation) error {
	marks, err := json.Marshal(c)
	if err != nil {
		return err
	}
	_, err = s.db.Exec(ctx, "confirm the tools of a server", `INSERT INTO server_marks (server, marks, confirmed_at) VALUES ($1, $2, $3)
		ON CONFLICT (server) DO UPDATE SET marks = excluded.marks, confirmed_at = excluded.confirmed_at`, server, string(marks), database.Millis(s.db.Now()))
	return err
}

// KeepSwitch stores that a tool is off, or on.
func (s *State) KeepSwitch(ctx context.Context, server, tool string, on bool) error {
	const op = "switch a tool"
	var err error
	if on {
		_, err = s.db.Exec(ctx, op, `DELETE FROM tool_switches WHERE server = $1 AND tool = $2`, server, tool)
	} else {
		_, err = s.db.Exec(ctx, op, `INSERT INTO tool_switches (server, tool, off_at) VALUES ($1, $2, $3)
			ON CONFLICT (server, tool) DO NOTHING`, server, tool, database.Millis(s.db.Now()))
	}
	return err
}

// KeepPins replaces the pins of a server.
func (s *State) KeepPins(ctx context.Context, server string, pins map[string]string) error {
	return s.db.Write(ctx, "pin the tools of a server", func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `DELETE FROM tool_pins WHERE server = $1`, server); err != nil {
			return err
		}
		stmt, err := tx.PrepareContext(ctx, `INSERT INTO tool_pins (server, tool, digest, pinned_at) VALUES ($1, $2, $3, $4)`)
		if err != nil {
			return err
		}
		defer stmt.Close()
		at := database.Millis(s.db.Now())
		for tool, digest := range pins {
			if _, err := stmt.ExecContext(ctx, server, tool, digest, at); err != nil {
				return err
			}
		}
		return nil
	})
}
