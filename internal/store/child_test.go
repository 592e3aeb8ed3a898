package store_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"molar/internal/store"
	"molar/internal/testkit/crash"
	"molar/mcpservers/memory"
)

// A child is this program again, told so by the first variable. The second makes it
// forget to wait for the disk.
const (
	childVariable    = "MOLAR_STORE_CHILD"
	carelessVariable = "MOLAR_STORE_CARELESS"
)

// child is a memory server on its standard streams.
func child(path string) {
	if err := serveChild(context.Background(), path); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serveChild(ctx context.Context, path string) error {
	db, err := store.Open(ctx, store.Config{Path: path})
	if err != nil {
		return err
	}
	defer db.Close()
	if os.Getenv(carelessVariable) != "" {
		db.CarelessCommits()
	}
	// A turn of a killed program must be waited for while the other one has the file open.
	server, err := memory.New(memory.Config{Store: db, LeaseTTL: 500 * time.Millisecond})
	if err != nil {
		return err
	}
	return crash.Serve(ctx, os.Stdin, os.Stdout, func(ctx context.Context, msg json.RawMessage) json.RawMessage {
		return server.Handle(ctx, "child", msg)
	})
}

func childCommand(tb testing.TB, path string, env ...string) func() *exec.Cmd {
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
