package store

import (
	"context"
	"database/sql"
)

// A ToolRef names a tool by its server and its own name.
type ToolRef struct{ Server, Tool string }

// ToolDecisions are what people decided about tools, and what was pinned for them.
type ToolDecisions struct {
	// Off are the tools that are switched off.
	Off []ToolRef
	// Pins are the digests of definitions, by server and tool.
	Pins map[string]map[string]string
}

// ToolDecisions reads all of them.
func (d *DB) ToolDecisions(ctx context.Context) (ToolDecisions, error) {
	const op = "read the switches of tools"
	all := ToolDecisions{Pins: map[string]map[string]string{}}
	rows, err := d.read.QueryContext(ctx, `SELECT server, tool, '' FROM tool_switches
		UNION ALL SELECT server, tool, digest FROM tool_pins`)
	if err != nil {
		return all, d.fault(op, err)
	}
	defer rows.Close()
	for rows.Next() {
		var ref ToolRef
		var digest string
		if err := rows.Scan(&ref.Server, &ref.Tool, &digest); err != nil {
			return all, d.fault(op, err)
		}
		switch {
		case digest == "":
			all.Off = append(all.Off, ref)
		case all.Pins[ref.Server] == nil:
			all.Pins[ref.Server] = map[string]string{ref.Tool: digest}
		default:
			all.Pins[ref.Server][ref.Tool] = digest
		}
	}
	return all, d.fault(op, rows.Err())
}

// KeepSwitch stores that a tool is off, or on again.
func (d *DB) KeepSwitch(ctx context.Context, server, tool string, on bool) error {
	return d.write(ctx, "switch a tool", func(tx *sql.Tx) error {
		if on {
			_, err := tx.ExecContext(ctx, `DELETE FROM tool_switches WHERE server = $1 AND tool = $2`, server, tool)
			return err
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO tool_switches (server, tool, off_at) VALUES ($1, $2, $3)
			ON CONFLICT (server, tool) DO NOTHING`, server, tool, millis(d.now()))
		return err
	})
}

// KeepPins replaces the pins of a server.
func (d *DB) KeepPins(ctx context.Context, server string, pins map[string]string) error {
	return d.write(ctx, "pin the tools of a server", func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `DELETE FROM tool_pins WHERE server = $1`, server); err != nil {
			return err
		}
		stmt, err := tx.PrepareContext(ctx, `INSERT INTO tool_pins (server, tool, digest, pinned_at) VALUES ($1, $2, $3, $4)`)
		if err != nil {
			return err
		}
		defer stmt.Close()
		at := millis(d.now())
		for tool, digest := range pins {
			if _, err := stmt.ExecContext(ctx, server, tool, digest, at); err != nil {
				return err
			}
		}
		return nil
	})
}
