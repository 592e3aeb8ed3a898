package store_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"molar/internal/store"
	"molar/internal/store/database"
	"molar/schemas"
)

// A full disk is a clear error, and what was saved before it is still there.
func TestDB_fullDisk(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("mounting a small file system needs root")
	}
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("a small file system cannot be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	path := filepath.Join(dir, "molar.db")
	db, err := store.Open(t.Context(), store.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("x", 32<<10)
	saved := 0
	for ; saved < 100; saved++ {
		message := store.Message{Role: schemas.RoleUser, Content: fmt.Sprint(saved, text)}
		if err = db.AddMessage(t.Context(), "", "chat", message); err != nil {
			break
		}
	}
	fault, ok := errors.AsType[*database.Error](err)
	if !ok || fault.Kind != database.KindFull || !strings.Contains(err.Error(), path) {
		t.Fatalf("after %d messages: %v", saved, err)
	}
	if saved == 0 {
		t.Fatal("nothing was saved before the disk was full")
	}
	if err := db.Close(); err != nil {
		t.Logf("close on a full disk: %v", err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, "size=8m"); err != nil {
		t.Fatal(err)
	}
	db, err = store.Open(t.Context(), store.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	messages, _, err := db.Messages(t.Context(), "", "chat", store.MessageRange{})
	if err != nil || len(messages) != saved {
		t.Errorf("%d messages after the disk had room again, want %d: %v", len(messages), saved, err)
	}
}
