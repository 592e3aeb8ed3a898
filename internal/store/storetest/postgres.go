// Package storetest starts PostgreSQL, alone or behind a pooler, for tests.
package storetest

import (
	"bufio"
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
)

// postgresVariable names a server for the tests; without it they start their own.
const postgresVariable = "MOLAR_TEST_POSTGRES"

// Postgres is a PostgreSQL server for one test.
type Postgres struct {
	base *url.URL
	// admin creates and empties schemas.
	admin *sql.DB

	// The following are set for a server of our own.
	bin, data string
	server    *exec.Cmd
	stderr    io.Closer
	logged    chan struct{}
	// last is the last line of the server's log, once logged is closed.
	last string
}

// StartPostgres returns a server: the one in MOLAR_TEST_POSTGRES, else a private one, run from
// Debian's package as an unprivileged user. If there is neither, the test is skipped, and in
// CI it fails.
func StartPostgres(tb testing.TB) *Postgres {
	tb.Helper()
	if testing.Short() {
		tb.Skip("PostgreSQL is left out of short tests")
	}
	if given := os.Getenv(postgresVariable); given != "" {
		base, err := url.Parse(given)
		if err != nil {
			tb.Fatalf("%s is not a URL", postgresVariable)
		}
		return (&Postgres{base: base}).connect(tb)
	}
	bin := postgresPrograms()
	if bin == "" {
		text := "there is no PostgreSQL: install Debian's postgresql, or set " + postgresVariable
		if os.Getenv("CI") == "true" {
			tb.Fatal(text)
		}
		tb.Skip(text)
	}
	// Not below tb.TempDir, which is closed to the server's user.
	data, err := os.MkdirTemp("", "molar-postgres-")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = os.RemoveAll(data) })
	p := &Postgres{bin: bin, data: data}
	p.create(tb)
	p.Start(tb)
	tb.Cleanup(func() {
		if p.server != nil {
			p.Stop(tb)
		}
	})
	return p.connect(tb)
}

func (p *Postgres) connect(tb testing.TB) *Postgres {
	tb.Helper()
	var err error
	if p.admin, err = sql.Open("pgx", p.base.String()); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = p.admin.Close() })
	return p
}

// postgresPrograms returns the folder of the newest initdb, or "".
func postgresPrograms() string {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb") // the pattern is good
	if len(found) > 0 {
		return filepath.Dir(slices.Max(found))
	}
	if path, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(path)
	}
	return ""
}

func (p *Postgres) create(tb testing.TB) {
	tb.Helper()
	if err := giveAway(p.data); err != nil {
		tb.Fatal(err)
	}
	locale := "C"
	if runtime.GOOS == "linux" {
		locale = "C.UTF-8" // knows the case of all letters, as the locales of most servers do
	}
	//nolint:gosec // our own program and folder
	initdb := exec.CommandContext(tb.Context(), filepath.Join(p.bin, "initdb"), "--pgdata="+p.data, "--username=molar",
		"--auth=trust", "--encoding=UTF8", "--locale="+locale, "--no-sync", "--no-instructions")
	unprivileged(initdb)
	if out, err := initdb.CombinedOutput(); err != nil {
		tb.Fatalf("initdb: %v\n%s", err, out)
	}
	// The port must stay the same over a restart.
	listener, err := new(net.ListenConfig).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer listener.Close()
	p.base = &url.URL{Scheme: "postgres", User: url.User("molar"), Host: listener.Addr().String(), Path: "/postgres"}
}

// Addr is where the server listens.
func (p *Postgres) Addr() string { return p.base.Host }

// Private reports whether the test started the server and may stop it.
func (p *Postgres) Private() bool { return p.bin != "" }

// Start starts a private server and returns when it takes connections.
func (p *Postgres) Start(tb testing.TB) {
	tb.Helper()
	//nolint:gosec // our own program and folder
	p.server = exec.CommandContext(context.WithoutCancel(tb.Context()), filepath.Join(p.bin, "postgres"), "-D", p.data, "-p", p.base.Port(),
		"-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "max_connections=200",
		// Commits that are not synced should be lost when the server is stopped.
		"-c", "wal_writer_delay=10s",
		// The tests stop the server, never the machine: what it wrote need not reach the disk.
		"-c", "fsync=off", "-c", "full_page_writes=off", "-c", "autovacuum=off")
	unprivileged(p.server)
	out, in, err := os.Pipe()
	if err != nil {
		tb.Fatal(err)
	}
	p.server.Stderr, p.stderr = in, out
	if err := p.server.Start(); err != nil {
		tb.Fatal(err)
	}
	in.Close()
	ready := make(chan struct{})
	p.logged = make(chan struct{})
	go p.readLog(out, ready)
	select {
	case <-ready:
	case <-p.logged:
		tb.Fatalf("postgres ended before it was ready: %s", p.last)
	}
}

// readLog waits for the line that reports readiness; the rest must be read as well, or the
// server stops at a full pipe.
func (p *Postgres) readLog(log io.Reader, ready chan<- struct{}) {
	defer close(p.logged)
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		p.last = lines.Text()
		if ready != nil && strings.Contains(p.last, "ready to accept connections") {
			close(ready)
			ready = nil
		}
	}
}

// Stop ends a private server at once, as a crash would, and waits for it.
func (p *Postgres) Stop(tb testing.TB) {
	tb.Helper()
	if err := p.server.Process.Signal(immediateStop()); err != nil {
		tb.Fatal(err)
	}
	_ = p.server.Wait() // an immediate stop ends with an exit code of its own
	<-p.logged
	p.stderr.Close()
	p.server = nil
}

// Freeze stops a private server for a while, as a hanging machine would: its connections stay.
func (p *Postgres) Freeze(long time.Duration) error {
	if err := freeze(p.server.Process.Pid, true); err != nil {
		return err
	}
	time.Sleep(long)
	return freeze(p.server.Process.Pid, false)
}

// Database returns the URL of an empty schema, which is dropped when the test ends.
func (p *Postgres) Database(tb testing.TB) string {
	tb.Helper()
	name := "t_" + strings.ToLower(rand.Text())
	p.exec(tb, tb.Context(), "CREATE SCHEMA "+name)
	tb.Cleanup(func() {
		if !p.Private() {
			p.exec(tb, context.Background(), "DROP SCHEMA "+name+" CASCADE")
		}
	})
	u := *p.base
	query := u.Query()
	query.Set("search_path", name)
	u.RawQuery = query.Encode()
	return u.String()
}

// Empty deletes all rows of the store's tables in a schema that [Postgres.Database] made: much
// cheaper than a new schema.
func (p *Postgres) Empty(tb testing.TB, dsn string) {
	tb.Helper()
	at, err := url.Parse(dsn)
	if err != nil {
		tb.Fatal(err)
	}
	p.exec(tb, tb.Context(), fmt.Sprintf(`DO $$ DECLARE tables text; BEGIN
		SELECT string_agg(format('%%I.%%I', schemaname, tablename), ', ') INTO tables FROM pg_tables
			WHERE schemaname = '%s' AND tablename <> 'molar_schema';
		IF tables IS NOT NULL THEN EXECUTE 'TRUNCATE ' || tables || ' RESTART IDENTITY'; END IF;
	END $$`, at.Query().Get("search_path")))
}

//nolint:revive // tb first, as in every function of a test
func (p *Postgres) exec(tb testing.TB, ctx context.Context, statement string) {
	tb.Helper()
	if _, err := p.admin.ExecContext(ctx, statement); err != nil {
		tb.Fatal(fmt.Errorf("%s: %w", statement, err))
	}
}
