package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// The pools of PostgreSQL. Together they are a fifth of a server's default limit, so that a
// few replicas fit.
const (
	durableConns, relaxedConns, readConns = 8, 4, 8
	// connIdle is how long an idle connection is kept.
	connIdle = 5 * time.Minute
	// connectTimeout applies unless the URL sets one.
	connectTimeout = 5 * time.Second
	// stoppedFor is how long a process that was stopped in the middle of a transaction keeps
	// its locks: shorter than others wait for them by default.
	stoppedFor = 4 * time.Second
)

// migrationLock is the advisory lock for schema changes ("molr").
const migrationLock = applicationID

func isPostgres(path string) bool {
	return strings.HasPrefix(path, "postgres://") || strings.HasPrefix(path, "postgresql://")
}

// redacted returns the URL without password and parameters.
func redacted(dsn string) string {
	u, err := url.Parse(dsn)
	if err != nil {
		return "postgres://…" // a part of it may be a password
	}
	shown := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	if u.User != nil {
		shown.User = url.User(u.User.Username())
	}
	return shown.String()
}

func (d *DB) openPostgres(ctx context.Context, cfg Config) error {
	d.name, d.SQL = redacted(cfg.Path), postgresDialect()
	base, err := pgx.ParseConfig(cfg.Path)
	if err != nil {
		// The parser's own text may quote the URL.
		return &Error{
			Op: "open store", Path: d.name, Kind: KindOther,
			Err: errors.New("the URL cannot be read; write postgres://user:password@host:port/name, with special characters as %XX"),
		}
	}
	if !strings.Contains(cfg.Path, "connect_timeout=") {
		base.ConnectTimeout = connectTimeout
	}
	d.single = base
	d.Durable = d.openConns(base, durableConns, map[string]string{"synchronous_commit": "on"})
	if d.schema, err = migratePostgres(ctx, d.Durable, d.name, cfg.AsIs); err != nil {
		return err
	}
	d.Relaxed = d.openConns(base, relaxedConns, map[string]string{"synchronous_commit": "off"})
	d.Read = d.openConns(base, readConns, map[string]string{"default_transaction_read_only": "on"})
	return nil
}

// Connect opens a connection to PostgreSQL outside the pools, for listening. The caller closes
// it.
func (d *DB) Connect(ctx context.Context) (*pgx.Conn, error) {
	cfg := d.single.Copy()
	cfg.RuntimeParams["application_name"] = "molar listener"
	conn, err := pgx.ConnectConfig(ctx, cfg)
	return conn, d.Fault("connect to PostgreSQL", err)
}

// IsPostgres reports whether the database is PostgreSQL, which several machines may have open.
func (d *DB) IsPostgres() bool { return d.single != nil }

// openConns opens a pool. Parameters in the URL take precedence.
func (d *DB) openConns(base *pgx.ConnConfig, conns int, params map[string]string) *sql.DB {
	cfg := base.Copy()
	params["application_name"] = "molar"
	params["lock_timeout"] = strconv.FormatInt(d.busy.Milliseconds(), 10)
	params["idle_in_transaction_session_timeout"] = strconv.FormatInt(stoppedFor.Milliseconds(), 10)
	for name, value := range params {
		if _, set := cfg.RuntimeParams[name]; !set {
			cfg.RuntimeParams[name] = value
		}
	}
	db := stdlib.OpenDB(*cfg)
	if !prepares(cfg) {
		db = sql.OpenDB(unprepared{stdlib.GetConnector(*cfg)})
	}
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	db.SetConnMaxIdleTime(connIdle)
	return db
}

// migratePostgres brings the schema up to date in one transaction, and returns its number before and
// after. A second process that starts at the same time waits for the lock and then finds it done.
func migratePostgres(ctx context.Context, db *sql.DB, name string, asIs bool) (s Schema, err error) {
	all, err := migrationsOf("postgres")
	if err != nil {
		return s, err
	}
	err = inTx(ctx, db, func(tx *sql.Tx) error {
		// A migration may take longer than lock_timeout.
		if _, err := tx.ExecContext(ctx, "SET LOCAL lock_timeout = 0"); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "SELECT pg_advisory_xact_lock($1)", migrationLock); err != nil {
			return err
		}
		version, err := postgresVersion(ctx, tx, name, len(all))
		s = Schema{version, version}
		missing := after(all, version)
		if err != nil || len(missing) == 0 {
			return err
		}
		if asIs {
			return errOlder
		}
		for _, step := range missing {
			script, err := migrations.ReadFile(step.name)
			if err != nil {
				return err
			}
			if _, err := tx.ExecContext(ctx, string(script)); err != nil {
				return fmt.Errorf("migration %s: %w", step.name, err)
			}
			s.Number = step.number
		}
		_, err = tx.ExecContext(ctx, "UPDATE molar_schema SET version = $1", s.Number)
		return err
	})
	return s, err
}

// postgresVersion returns the version of the schema, 0 for one that it marks as ours just now.
// It refuses tables that are not ours, or too new for this program.
func postgresVersion(ctx context.Context, tx *sql.Tx, name string, known int) (version int, err error) {
	var ours, taken bool
	err = tx.QueryRowContext(ctx, `SELECT to_regclass('molar_schema') IS NOT NULL, to_regclass('conversations') IS NOT NULL
		OR to_regclass('messages') IS NOT NULL OR to_regclass('turns') IS NOT NULL`).Scan(&ours, &taken)
	switch {
	case err != nil:
		return 0, err
	case !ours && taken:
		return 0, &Error{
			Op: "open store", Path: name, Kind: KindForeign,
			Err: errors.New("it has tables of these names already; name another database, or a schema with ?search_path=NAME"),
		}
	case !ours:
		_, err = tx.ExecContext(ctx, "CREATE TABLE molar_schema (version INTEGER NOT NULL); INSERT INTO molar_schema VALUES (0)")
		return 0, err
	}
	if err := tx.QueryRowContext(ctx, "SELECT version FROM molar_schema").Scan(&version); err != nil {
		return 0, err
	}
	return version, checkLeast(ctx, tx, name, version, known)
}
