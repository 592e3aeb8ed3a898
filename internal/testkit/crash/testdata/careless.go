// The crash test overlays this file on the host, to check that it would find what a loss of power
// destroys.
package main

import (
	"context"
	"database/sql/driver"

	"modernc.org/sqlite"
)

// init makes commits return before they are on the disk.
func init() {
	sqlite.RegisterConnectionHook(func(conn sqlite.ExecQuerierContext, _ string) error {
		_, err := conn.ExecContext(context.Background(), "PRAGMA synchronous = OFF", []driver.NamedValue{})
		return err
	})
}
