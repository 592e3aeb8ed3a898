package crash_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"molar/internal/store"
	"molar/internal/store/database"
	"molar/internal/store/storetest"
	"molar/internal/testkit/crash"
	"molar/mcpservers/memory"
)

// The first variable makes the test binary the child. The second makes the child promise before
// it saves.
const (
	childVariable = "MOLAR_CRASH_CHILD"
	liarVariable  = "MOLAR_CRASH_LIAR"
	// cyclesVariable is set by "make long".
	cyclesVariable = "MOLAR_CRASH_CYCLES"
)

func TestMain(m *testing.M) {
	path := os.Getenv(childVariable)
	if path == "" {
		goleak.VerifyTestMain(m)
		return
	}
	if err := child(context.Background(), path, os.Getenv(liarVariable) != ""); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// child is a memory server on its standard streams. It ends if its file is damaged.
func child(ctx context.Context, path string, liar bool) error {
	db, err := store.Open(ctx, store.Config{Path: path, Logger: slog.New(slog.DiscardHandler), BusyTimeout: 50 * time.Millisecond})
	if err != nil {
		return err
	}
	defer db.Close()
	if err := db.Check(ctx); err != nil && !errors.Is(err, database.ErrOwnTools) {
		return err
	}
	// The leases are short, so that those of a killed child do not delay the next one.
	server, err := memory.New(memory.Config{Store: db, LeaseTTL: 300 * time.Millisecond})
	if err != nil {
		return err
	}
	return crash.Serve(ctx, os.Stdin, os.Stdout, func(ctx context.Context, msg json.RawMessage) json.RawMessage {
		if liar && strings.Contains(string(msg), "memory/save_turn") {
			return promise(msg)
		}
		return server.Handle(ctx, "crash", msg)
	})
}

// promise answers a save that is never done, like a server that is killed between an answer and
// its delayed save.
func promise(msg json.RawMessage) json.RawMessage {
	var req struct {
		ID json.RawMessage `json:"id"`
	}
	if json.Unmarshal(msg, &req) != nil {
		return nil
	}
	return json.RawMessage(`{"jsonrpc":"2.0","id":` + string(req.ID) + `,"result":{"turn_id":"t"}}`)
}

func command(tb testing.TB, path string, env ...string) func() *exec.Cmd {
	tb.Helper()
	self, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	return func() *exec.Cmd {
		cmd := exec.Command(self)
		cmd.Env = append(append(os.Environ(), childVariable+"="+path), env...)
		return cmd
	}
}

func cycles(tb testing.TB, usual int) int {
	tb.Helper()
	n, err := strconv.Atoi(os.Getenv(cyclesVariable))
	if err != nil {
		return usual
	}
	return n
}

func run(t *testing.T, cfg crash.Config) crash.Report {
	t.Helper()
	if testing.Short() && cfg.Cycles > 1 {
		t.Skip("kill loops are left out of short tests")
	}
	report, err := crash.Run(t.Context(), cfg)
	if err != nil {
		t.Fatalf("after %d cycles: %v", report.Cycles, err)
	}
	t.Logf("%d kills, %d turns reported saved, %d cut off", report.Cycles, report.Saved, report.Unsure)
	return report
}

// usualCycles suffice to test each kind of fault a few times; "make long" runs many.
const usualCycles = 6

func TestKill_sqlite(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "memory.db")
	report := run(t, crash.Config{Command: command(t, path), Cycles: cycles(t, usualCycles), Writers: 8, Seed: 1})
	mustKeep(t, report)
}

func TestKill_postgres(t *testing.T) {
	t.Parallel()
	pg := storetest.StartPostgres(t)
	t.Run("the client", func(t *testing.T) {
		report := run(t, crash.Config{Command: command(t, pg.Database(t)), Cycles: cycles(t, usualCycles), Writers: 8, Seed: 1})
		mustKeep(t, report)
	})
	if !pg.Private() {
		return
	}
	t.Run("the server, commits wait for the disk", func(t *testing.T) {
		if report := killServer(t, pg, "on", 3); len(report.Faults) > 0 {
			t.Errorf("faults: %q", report.Faults)
		}
	})
	// The checker must find what is lost in that case. A kill may fall just after the log was
	// synced for another reason, so several are tried.
	t.Run("the server, commits do not wait", func(t *testing.T) {
		const kills = 20
		for range kills {
			if report := killServer(t, pg, "off", 1); len(report.Faults) > 0 {
				return
			}
		}
		t.Errorf("nothing was lost in %d kills", kills)
	})
}

// killServer crashes PostgreSQL together with its client.
func killServer(t *testing.T, pg *storetest.Postgres, synchronousCommit string, cycles int) crash.Report {
	t.Helper()
	return run(t, crash.Config{
		Command: command(t, pg.Database(t)+"&synchronous_commit="+synchronousCommit),
		Cycles:  cycles, Writers: 4, Seed: 1, ForgetsRecords: true,
		Kill: func(child *exec.Cmd) error {
			err := child.Process.Kill()
			pg.Stop(t)
			return err
		},
		Between: func() error { pg.Start(t); return nil },
	})
}

func mustKeep(t *testing.T, report crash.Report) {
	t.Helper()
	for _, fault := range report.Faults {
		t.Error(fault)
	}
	if report.Saved < report.Cycles || report.Unsure == 0 {
		t.Errorf("too little happened: %+v", report)
	}
}

// The checker must find a server that promises too early.
func TestKill_seesALiar(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	report := run(t, crash.Config{Command: command(t, path, liarVariable+"=1"), Cycles: 1, Writers: 1, Seed: 1})
	if len(report.Faults) == 0 {
		t.Errorf("no fault was found: %+v", report)
	}
}

func TestRun_RefusesNonsense(t *testing.T) {
	if _, err := crash.Run(t.Context(), crash.Config{}); err == nil {
		t.Error("ran without a command")
	}
	_, err := crash.Run(t.Context(), crash.Config{
		Command: func() *exec.Cmd { return exec.Command("sh", "-c", "echo broken >&2; exit 1") }, Cycles: 1, Writers: 1,
	})
	if err == nil || !strings.Contains(err.Error(), "gone") {
		t.Errorf("a child that ends at once: %v", err)
	}
}

func TestServe_EndsWithItsInput(t *testing.T) {
	err := crash.Serve(t.Context(), strings.NewReader("{}\n{}\n"), io.Discard,
		func(context.Context, json.RawMessage) json.RawMessage { return json.RawMessage(`{}`) })
	if err != nil {
		t.Error(err)
	}
}
