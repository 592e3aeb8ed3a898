package storetest

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Pooled returns the URL of the same schema behind Debian's PgBouncer, which gives each
// transaction any of its connections: prepared statements, settings and listeners of one are
// lost.
func (p *Postgres) Pooled(tb testing.TB, dsn string) string {
	tb.Helper()
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		const text = "there is no PgBouncer: install Debian's pgbouncer"
		if os.Getenv("CI") == "true" {
			tb.Fatal(text)
		}
		tb.Skip(text)
	}
	at, err := url.Parse(dsn)
	if err != nil {
		tb.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "molar-pgbouncer-")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = os.RemoveAll(dir) })
	listener, err := new(net.ListenConfig).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	pooler := listener.Addr().(*net.TCPAddr) //nolint:forcetypeassert // it listens on TCP
	listener.Close()
	config := filepath.Join(dir, "pgbouncer.ini")
	text := fmt.Sprintf(`[databases]
molar = host=127.0.0.1 port=%s dbname=postgres user=molar connect_query='SET search_path TO %s'
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = any
pool_mode = transaction
max_client_conn = 500
default_pool_size = 30
ignore_startup_parameters = extra_float_digits,search_path,synchronous_commit,lock_timeout,idle_in_transaction_session_timeout,default_transaction_read_only
`, p.base.Port(), at.Query().Get("search_path"), pooler.Port)
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil { //nolint:gosec // read by the user as whom it runs
		tb.Fatal(err)
	}
	if err := giveAway(dir); err != nil {
		tb.Fatal(err)
	}
	cmd := exec.CommandContext(context.WithoutCancel(tb.Context()), program, config) //nolint:gosec // Debian's program
	unprivileged(cmd)
	said, err := cmd.StderrPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait() // it was killed on purpose
	})
	lines := bufio.NewScanner(said)
	for lines.Scan() {
		if strings.Contains(lines.Text(), "process up") {
			go func() {
				for lines.Scan() { // a full pipe would stop it
				}
			}()
			return fmt.Sprintf("postgres://molar@%s/molar?default_query_exec_mode=exec", pooler)
		}
	}
	tb.Fatal("pgbouncer ended before it was ready")
	return ""
}
