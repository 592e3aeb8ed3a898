package host

import (
	"bytes"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"molar/internal/store"
)

// Who asks whether the host is ready needs no key, so the answer must not say where the
// database is; the log does.
func TestReady_HidesTheDatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret-place.db")
	db, err := store.Open(t.Context(), store.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	h := &Host{DB: db, Gate: newGate(), Log: slog.New(slog.NewTextHandler(&log, nil))}
	err = h.Ready(t.Context())
	if err == nil || strings.Contains(err.Error(), "secret-place") || !strings.Contains(err.Error(), "the database is closed") {
		t.Errorf("told: %v", err)
	}
	if !strings.Contains(log.String(), "secret-place") {
		t.Errorf("logged: %s", log.String())
	}
}
