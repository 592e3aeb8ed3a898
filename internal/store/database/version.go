package database

import "context"

// Version returns a number that is another one after each change of the database, whoever made it.
// known is false if there is none, as for PostgreSQL. The first call, and one after the connection
// for it broke, may return any number.
func (d *DB) Version(ctx context.Context) (version int64, known bool) {
	if d.versions == nil {
		return 0, false
	}
	err := d.versions.QueryRowContext(ctx, `PRAGMA data_version`).Scan(&version)
	return version, err == nil
}
