// The crash test lays this file over the host, to see that it would find what a loss of
// power takes.
package main

import (
	"context"
	"database/sql/driver"

	"modernc.org/sqlite"
)

// init lets commits return before they are on the disk.
func init() {
	sqlite.RegisterConnectionHook(func(conn sqlite.ExecQuerierContext, _ string) error {
		_, err := conn.ExecContext(context.Background(), "PRAGMA synchronous = OFF", []driver.NamedValue{})
		return err
	})
}
