package database

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// applicationID marks the file as ours ("molr"), so that a mistyped path never makes us write
// to another program's database.
const applicationID = 0x6d6f6c72

//go:embed migrations/*/*.sql
var migrations embed.FS

// A migration brings the schema from one number to the next.
type migration struct {
	number int
	name   string
}

// migrationsOf returns the migrations of a dialect in the order of their numbers, which their names
// begin with: 1, 2 and so on, without gaps.
func migrationsOf(dialect string) ([]migration, error) {
	names, err := fs.Glob(migrations, "migrations/"+dialect+"/*.sql")
	if err != nil {
		return nil, err
	}
	all := make([]migration, len(names))
	for i, name := range names {
		number, _, _ := strings.Cut(path.Base(name), "_")
		all[i] = migration{name: name}
		if all[i].number, err = strconv.Atoi(number); err != nil || all[i].number != i+1 {
			return nil, fmt.Errorf("migration %s: its number is not %d, which follows the one before", name, i+1)
		}
	}
	return all, nil
}

// after returns the migrations that a schema of that number lacks.
func after(all []migration, number int) []migration { return all[min(number, len(all)):] }

// migrate brings the schema of a SQLite file up to date, and returns its number before and after. That is one
// transaction, which writes each page once and ends by writing the number as user_version; a second process that
// starts at the same time waits for the lock and then finds it done.
func migrate(ctx context.Context, db *sql.DB, path string, asIs bool) (s Schema, err error) {
	all, err := migrationsOf("sqlite")
	if err != nil {
		return s, err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return s, err
	}
	defer tx.Rollback() //nolint:errcheck // a no-op after the commit
	s.Before, err = checkVersion(ctx, tx, path, len(all))
	s.Number = s.Before
	missing := after(all, s.Before)
	if err != nil || len(missing) == 0 {
		return s, err
	}
	if asIs {
		return s, errOlder
	}
	for _, next := range missing {
		script, err := migrations.ReadFile(next.name)
		if err == nil {
			_, err = tx.ExecContext(ctx, string(script))
		}
		if err != nil {
			return s, fmt.Errorf("migration %s: %w", next.name, err)
		}
	}
	// PRAGMA takes no parameters; both numbers are ours.
	if _, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d;", applicationID, len(all))); err != nil {
		return s, err
	}
	if err := tx.Commit(); err != nil {
		return s, err
	}
	s.Number = len(all)
	return s, nil
}

// errOlder refuses an old schema that must not be migrated.
var errOlder = errors.New("its schema is older than this program: run molar migrate, or serve without --no-migrate")

// leastVersion is the number of a schema that names the least version that may run beside it.
const leastVersion = 25

// leastOf reads the least schema that a program must know to run beside this one.
const leastOf = `SELECT least FROM molar_schema`

// checkVersion returns the number of the file's schema, and refuses files that are not ours, or that
// are too new for this program.
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
	return version, checkLeast(ctx, tx, path, version, known)
}

// checkLeast refuses a schema that this program, which knows those up to known, cannot run on.
func checkLeast(ctx context.Context, tx *sql.Tx, path string, version, known int) error {
	if version <= known {
		return nil
	}
	least := version
	if known >= leastVersion {
		if err := tx.QueryRowContext(ctx, leastOf).Scan(&least); err != nil {
			return err
		}
	}
	if known < least {
		return newerSchema(path, version, known)
	}
	return nil
}

func newerSchema(path string, version, known int) error {
	return &Error{
		Op: "open store", Path: path, Kind: KindNewer,
		Err: fmt.Errorf("its schema is %d, this program knows %d", version, known),
	}
}

// A Schema is the number of a database's schema, when it was opened and before that.
type Schema struct{ Before, Number int }

// Schema returns the number of the schema, when the database was opened and before that.
func (d *DB) Schema() Schema { return d.schema }

// checkSchema reports whether a later program has made the schema too new for this one since the
// database was opened.
func (d *DB) checkSchema(ctx context.Context) error {
	var least int
	if err := d.Read.QueryRowContext(ctx, leastOf).Scan(&least); err != nil {
		return err
	}
	if d.known < least {
		return newerSchema(d.name, least, d.known)
	}
	return nil
}
