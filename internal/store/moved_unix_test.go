//go:build unix

package store_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"molar/internal/store"
	"molar/internal/store/database"
)

// kindOf returns the kind of a fault.
func kindOf(t *testing.T, err error) database.Kind {
	t.Helper()
	fault, ok := errors.AsType[*database.Error](err)
	if !ok {
		t.Fatalf("%v is no fault of the database", err)
	}
	return fault.Kind
}

// A file that was moved, deleted or replaced under the program takes no turn, and is well again when
// it is back.
func TestMoved(t *testing.T) {
	for name, harm := range map[string]func(path string) error{
		"moved": func(path string) error { return os.Rename(path, path+".away") },
		"replaced": func(path string) error {
			return errors.Join(os.Rename(path, path+".away"), os.WriteFile(path, nil, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "molar.db")
			db := open(t, path)
			begin := func() error {
				_, err := db.BeginTurn(t.Context(), store.TurnRequest{ConversationID: "c" + name, TTL: time.Minute})
				return err
			}
			saveTurn(t, db, "chat", "0d7e3f5a-7c1f-4d0e-9a51-0a6f3f6d2b11", "Hello")
			if err := harm(path); err != nil {
				t.Fatal(err)
			}
			for _, err := range []error{db.Ping(t.Context()), begin(), db.Rename(t.Context(), "", "chat", "title")} {
				if kind := kindOf(t, err); kind != database.KindMoved {
					t.Errorf("%v is of kind %q", err, kind)
				}
			}
			if err := os.Rename(path+".away", path); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(db.Ping(t.Context()), begin()); err != nil {
				t.Error(err)
			}
		})
	}
}

// A log that is missing after an unclean end is told until the next start.
func TestLogLost(t *testing.T) {
	crashed := filepath.Join(t.TempDir(), "molar.db")
	db := open(t, crashed)
	saveTurn(t, db, "chat", "0d7e3f5a-7c1f-4d0e-9a51-0a6f3f6d2b11", "Hello")
	left := func(files ...string) string {
		t.Helper()
		path := filepath.Join(t.TempDir(), "molar.db")
		for _, file := range files {
			from, err := os.Open(crashed + file)
			if err != nil {
				t.Fatal(err)
			}
			content, err := io.ReadAll(from)
			if err = errors.Join(err, from.Close()); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path+file, content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return path
	}
	whole, lost := left("", "-wal", "-open"), left("", "-open")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	clean := left("", "-open")
	for path, want := range map[string]bool{whole: true, lost: false, clean: true} {
		db := open(t, path)
		if err := db.Ping(t.Context()); (err == nil) != want || !want && kindOf(t, err) != database.KindLogLost {
			t.Errorf("%s: %v", path, err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		if err := open(t, path).Ping(t.Context()); err != nil {
			t.Errorf("started again: %v", err)
		}
	}
}
