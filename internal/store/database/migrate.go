package database

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
)

// applicationID marks the file as ours ("molr"), so that a mistyped path never makes us write
// to another program's database.
const applicationID = 0x6d6f6c72

//go:embed migrations/*/*.sql
var migrations embed.FS

// migrate brings the schema up to date. Each step is one transaction that ends by raising
// user_version; a second process that starts at the same time waits for the lock and then
// finds the step done.
func migrate(ctx context.Context, db *sql.DB, path string, asIs bool) error {
	names, err := fs.Glob(migrations, "migrations/sqlite/*.sql")
	if err != nil {
		return err
	}
	for {
		done, err := migrateStep(ctx, db, path, names, asIs)
		if err != nil || done {
			return err
		}
	}
}

func migrateStep(ctx context.Context, db *sql.DB, path string, names []string, asIs bool) (done bool, err error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return false, err
	}
	defer tx.Rollback() //nolint:errcheck // a no-op after the commit
	version, err := checkVersion(ctx, tx, path, len(names))
	if err != nil || version == len(names) {
		return true, err
	}
	if asIs {
		return false, errOlder
	}
	script, err := migrations.ReadFile(names[version])
	if err != nil {
		return false, err
	}
	// PRAGMA takes no parameters; both numbers are ours.
	mark := fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d;", applicationID, version+1)
	if _, err := tx.ExecContext(ctx, string(script)+mark); err != nil {
		return false, fmt.Errorf("migration %s: %w", names[version], err)
	}
	return false, tx.Commit()
}

// errOlder refuses an old schema that must not be migrated.
var errOlder = errors.New("its schema is older than this program: molar migrate, or a start of serve, brings it up to date")

// checkVersion returns the schema version of the file and refuses files that are
// not ours or are newer than this program.
func checkVersion(ctx context.Context, tx *sql.Tx, path string, known int) (int, error) {
	var id, version, tables int
	row := tx.QueryRowContext(ctx, `SELECT (SELECT application_id FROM pragma_application_id),
		(SELECT user_version FROM pragma_user_version), (SELECT count(*) FROM sqlite_schema)`)
	if err := row.Scan(&id, &version, &tables); err != nil {
		return 0, err
	}
	if id != applicationID && (id != 0 || version != 0 || tables > 0) {
		return 0, &Error{Op: "open store", Path: path, Kind: KindForeign}
	}
	if version > known {
		return 0, newerSchema(path, version, known)
	}
	return version, nil
}

func newerSchema(path string, version, known int) error {
	return &Error{
		Op: "open store", Path: path, Kind: KindNewer,
		Err: fmt.Errorf("its schema is %d, this program knows %d", version, known),
	}
}
