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
	"slices"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
)

// postgresVariable names a server for the tests; without it they start their own.
const postgresVariable = "MOLAR_TEST_POSTGRES"

// Postgres is a PostgreSQL server for one test.
type Postgres struct {
	base *url.URL

	// The following are set for a server of our own.
	bin, data string
	server    *exec.Cmd
	stderr    io.Closer
	logged    chan struct{}
	// last is the last line that the server wrote, once logged is closed.
	last string
}

// StartPostgres gives a server: the one that MOLAR_TEST_POSTGRES names, else a private
// one, run from Debian's package as an unprivileged user. Where there is neither, the
// test is skipped, in CI it fails.
func StartPostgres(tb testing.TB) *Postgres {
	tb.Helper()
	if given := os.Getenv(postgresVariable); given != "" {
		base, err := url.Parse(given)
		if err != nil {
			tb.Fatalf("%s is no URL", postgresVariable)
		}
		return &Postgres{base: base}
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
	return p
}

// postgresPrograms returns the folder of the newest initdb, or nothing.
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
	//nolint:gosec // our own program and folder
	initdb := exec.CommandContext(tb.Context(), filepath.Join(p.bin, "initdb"), "--pgdata="+p.data, "--username=molar",
		"--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync", "--no-instructions")
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

// Private reports whether the server is ours to stop.
func (p *Postgres) Private() bool { return p.bin != "" }

// Start starts a private server and returns when it takes connections.
func (p *Postgres) Start(tb testing.TB) {
	tb.Helper()
	//nolint:gosec // our own program and folder
	p.server = exec.CommandContext(context.WithoutCancel(tb.Context()), filepath.Join(p.bin, "postgres"), "-D", p.data, "-p", p.base.Port(),
		"-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "max_connections=200",
		// What does not wait for the disk should be lost when the server is stopped.
		"-c", "wal_writer_delay=10s")
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

// readLog waits for the line that says so; the rest must be read as well, or the
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

//nolint:revive // tb first, as in every function of a test
func (p *Postgres) exec(tb testing.TB, ctx context.Context, statement string) {
	tb.Helper()
	db, err := sql.Open("pgx", p.base.String())
	if err != nil {
		tb.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(ctx, statement); err != nil {
		tb.Fatal(fmt.Errorf("%s: %w", statement, err))
	}
}
