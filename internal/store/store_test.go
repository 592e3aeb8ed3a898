package store_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"molar/internal/store"
	"molar/internal/store/database"
	"molar/mcpservers/memory"
	"molar/schemas"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(childVariable); path != "" {
		child(path)
		return
	}
	goleak.VerifyTestMain(m)
}

var _ memory.Store = (*store.DB)(nil)

func open(t testing.TB, path string) *store.DB {
	t.Helper()
	db, err := store.Open(t.Context(), store.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// openAt opens a new file with a clock.
func openAt(tb testing.TB, now func() time.Time) *store.DB {
	tb.Helper()
	db, err := store.Open(tb.Context(), store.Config{Path: filepath.Join(tb.TempDir(), "m.db"), Now: now})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = db.Close() })
	return db
}

func TestContract(t *testing.T) {
	testContract(t, func(t *testing.T, now func() time.Time) memory.Store {
		db, err := store.Open(t.Context(), store.Config{Path: filepath.Join(t.TempDir(), "memory.db"), Now: now})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		return db
	})
}

func saveTurn(t testing.TB, db *store.DB, id, turnID, text string) {
	t.Helper()
	start, err := db.BeginTurn(t.Context(), store.TurnRequest{ConversationID: id, TTL: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.SaveTurn(t.Context(), store.Turn{Lease: start.Lease, TurnID: turnID, User: text, Answer: text})
	if err != nil {
		t.Fatal(err)
	}
}

func TestOpen_CreatesPrivateFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "odd ?#%&name", "memory.db")
	db := open(t, path)
	saveTurn(t, db, "c", "t", "hello")
	for name, want := range map[string]os.FileMode{
		path: 0o600, path + "-wal": 0o600, path + "-shm": 0o600, filepath.Dir(path): 0o700,
	} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has mode %o, want %o", name, got, want)
		}
	}
}

func TestOpen_TightensAnOpenFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	open(t, path)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestOpen_AgainFindsEverything(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	db := open(t, path)
	saveTurn(t, db, "c", "t", "hello")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	messages, _, err := open(t, path).Messages(t.Context(), "", "c", store.MessageRange{})
	if err != nil || len(messages) != 2 {
		t.Errorf("%d messages, %v", len(messages), err)
	}
}

func TestOpen_TwoAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	one, two := open(t, path), open(t, path)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 20 {
			saveTurn(t, one, "one", string(rune('a'+i)), "x")
		}
	}()
	for i := range 20 {
		saveTurn(t, two, "two", string(rune('A'+i)), "x")
	}
	<-done
	for _, id := range []string{"one", "two"} {
		if _, total, err := one.Messages(t.Context(), "", id, store.MessageRange{Last: 1}); err != nil || total != 40 {
			t.Errorf("%s: %d messages, %v", id, total, err)
		}
	}
	// A lease taken through one connection counts for the other.
	first, err := one.BeginTurn(t.Context(), store.TurnRequest{ConversationID: "one", TTL: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := two.BeginTurn(t.Context(), store.TurnRequest{ConversationID: "one", TTL: time.Minute}); !errors.Is(err, store.ErrBusy) {
		t.Errorf("a second turn begins: %v", err)
	}
	if _, err := two.SaveTurn(t.Context(), store.Turn{Lease: first.Lease, TurnID: "late"}); err != nil {
		t.Error(err)
	}
	if _, err := two.BeginTurn(t.Context(), store.TurnRequest{ConversationID: "one", TTL: time.Minute}); err != nil {
		t.Errorf("after the first has ended: %v", err)
	}
}

// A turn whose process ended can be taken over when the file is opened again, at once if nobody else
// has it open: the next one does not wait for a lease that nobody holds.
func TestOpen_EndsTurnsOfTheDead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	first, other := open(t, path), open(t, path)
	if _, err := first.BeginTurn(t.Context(), store.TurnRequest{ConversationID: "c", TTL: time.Hour}); err != nil {
		t.Fatal(err)
	}
	if err := first.Journal("a").Begin(t.Context(), schemas.JournalTurn{ID: "t", ConversationID: "c", State: []byte(`"s"`)}); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil { // as a process that is killed, it says nothing of its turns
		t.Fatal(err)
	}
	taken := func(db *store.DB, want ...string) {
		t.Helper()
		if got, err := db.Journal("b").TakeDead(t.Context(), true); err != nil || !slices.Equal(got, want) {
			t.Errorf("taken over: %q, %v", got, err)
		}
	}
	second := open(t, path)
	taken(second) // the turn may be the other one's
	if err := errors.Join(second.Close(), other.Close()); err != nil {
		t.Fatal(err)
	}
	third := open(t, path)
	taken(third, "t")
	taken(third)
	saveTurn(t, third, "c", "next", "hello")
}

// raw changes a database behind the store's back.
func raw(t *testing.T, path, script string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.ExecContext(t.Context(), script)
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestOpen_Refuses(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(t *testing.T, path string)
		kind    database.Kind
		says    string
	}{
		"a file that is no database": {func(t *testing.T, path string) {
			if err := os.WriteFile(path, []byte(strings.Repeat("not a database ", 500)), 0o600); err != nil {
				t.Fatal(err)
			}
		}, database.KindCorrupt, "restore a backup"},
		"a newer schema": {func(t *testing.T, path string) {
			if err := open(t, path).Close(); err != nil {
				t.Fatal(err)
			}
			raw(t, path, "PRAGMA user_version = 99; UPDATE molar_schema SET least = 98")
		}, database.KindNewer, "upgrade molar"},
		"another program's database": {func(t *testing.T, path string) {
			raw(t, path, "CREATE TABLE bookmarks (url TEXT)")
		}, database.KindForeign, "choose another path"},
		"a folder": {func(t *testing.T, path string) {
			if err := os.Mkdir(path, 0o700); err != nil {
				t.Fatal(err)
			}
		}, database.KindForeign, "not a regular file"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "memory.db")
			c.prepare(t, path)
			db, err := store.Open(t.Context(), store.Config{Path: path})
			if err == nil {
				t.Fatal("opened", db.Close())
			}
			fault, ok := errors.AsType[*database.Error](err)
			if !ok || fault.Kind != c.kind {
				t.Fatalf("error %v of kind %v, want %v", err, fault, c.kind)
			}
			if !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("error says %q", err)
			}
			if told := fault.Public(); strings.Contains(told, path) || told == "" {
				t.Errorf("clients are told %q", told)
			}
		})
	}
	if _, err := store.Open(t.Context(), store.Config{}); err == nil {
		t.Error("opened without a path")
	}
}

// A command that looks into a database must not make an empty one.
func TestOpen_MustExist(t *testing.T) {
	path := filepath.Join(t.TempDir(), "folder", "memory.db")
	_, err := store.Open(t.Context(), store.Config{Path: path, MustExist: true})
	fault, ok := errors.AsType[*database.Error](err)
	if !ok || fault.Kind != database.KindAbsent || !strings.Contains(err.Error(), "check memory.store") {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(filepath.Dir(path)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("something was made: %v", err)
	}
	if err := open(t, path).Close(); err != nil {
		t.Fatal(err)
	}
	db, err := store.Open(t.Context(), store.Config{Path: path, MustExist: true})
	if err != nil {
		t.Fatal(err)
	}
	_ = db.Close()
}

func TestFaults_AreNamed(t *testing.T) {
	t.Run("damaged pages", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "memory.db")
		db := open(t, path)
		for i := range 50 {
			saveTurn(t, db, "c", string(rune('a'+i)), strings.Repeat("x", 8000))
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for i := emptySize(t); i < int64(len(data)); i++ { // behind the tables of an empty database
			data[i] = 0xa5
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		_, _, err = open(t, path).Messages(t.Context(), "", "c", store.MessageRange{})
		if fault, ok := errors.AsType[*database.Error](err); !ok || fault.Kind != database.KindCorrupt {
			t.Errorf("error %v", err)
		}
	})
	t.Run("full disk", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "memory.db")
		db := open(t, path)
		db.LimitPages(t, 100)
		err := db.AddMessage(t.Context(), "", "c", store.Message{Role: schemas.RoleUser, Content: strings.Repeat("x", 1<<20)})
		fault, ok := errors.AsType[*database.Error](err)
		if !ok || fault.Kind != database.KindFull || !strings.Contains(err.Error(), "free some space") {
			t.Errorf("error %v", err)
		}
		saveTurn(t, db, "c", "t", "small things still fit")
	})
	t.Run("locked", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "memory.db")
		db, err := store.Open(t.Context(), store.Config{Path: path, BusyTimeout: 10 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		other := open(t, path)
		release := other.HoldFile(t)
		err = db.Ensure(t.Context(), "", "c")
		if fault, ok := errors.AsType[*database.Error](err); !ok || fault.Kind != database.KindLocked {
			t.Errorf("error %v", err)
		}
		release()
		if err := db.Ensure(t.Context(), "", "c"); err != nil {
			t.Error(err)
		}
	})
	t.Run("locked beyond the deadline", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "memory.db")
		db, other := open(t, path), open(t, path)
		release := other.HoldFile(t)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		began := time.Now()
		err := db.Ensure(ctx, "", "c")
		if took := time.Since(began); err == nil || took > 3*time.Second { // SQLite itself waits for 5 s
			t.Errorf("%v after %v", err, took)
		}
		release()
		if err := db.Ensure(t.Context(), "", "c"); err != nil {
			t.Error(err)
		}
	})
	t.Run("what the system says", func(t *testing.T) {
		for err, want := range map[error]database.Kind{
			&fs.PathError{Op: "open", Err: syscall.EACCES}: database.KindPermission,
			&fs.PathError{Op: "open", Err: syscall.EROFS}:  database.KindReadOnly,
			&fs.PathError{Op: "open", Err: syscall.ENOSPC}: database.KindFull,
			&fs.PathError{Op: "open", Err: syscall.ENOENT}: database.KindMissing,
			errors.New("else"): database.KindOther,
		} {
			if got := database.KindOf(err); got != want {
				t.Errorf("%v is %q, want %q", err, got, want)
			}
		}
	})
	t.Run("closed", func(t *testing.T) {
		db := open(t, filepath.Join(t.TempDir(), "memory.db"))
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		fault, ok := errors.AsType[*database.Error](db.Ping(t.Context()))
		if !ok || fault.Kind != database.KindClosed {
			t.Errorf("error %v", fault)
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		db := open(t, filepath.Join(t.TempDir(), "memory.db"))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := db.Ensure(ctx, "", "c"); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
	})
}

// A schema that is newer than this program runs if it says so, and is not ready as soon as it says
// otherwise.
func TestOpen_NewerSchema(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	db := open(t, path)
	known := db.Schema().Number
	raw(t, path, fmt.Sprintf("PRAGMA user_version = %d", known+1))
	if err := db.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	later := open(t, path)
	if got := later.Schema(); got.Number != known+1 {
		t.Errorf("%+v", got)
	}
	raw(t, path, fmt.Sprintf("UPDATE molar_schema SET least = %d", known+1))
	for _, db := range []*store.DB{db, later} {
		fault, ok := errors.AsType[*database.Error](db.Ping(t.Context()))
		if !ok || fault.Kind != database.KindNewer {
			t.Errorf("a schema that has become too new: %v", fault)
		}
	}
}

// Programs that start at once on a new file wait for each other: none is told that the file is
// locked.
func TestOpen_Together(t *testing.T) {
	for i := range 20 {
		path := filepath.Join(t.TempDir(), "m.db")
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				db, err := store.Open(t.Context(), store.Config{Path: path})
				if err != nil {
					t.Errorf("round %d: %v", i, err)
					return
				}
				db.Close()
			})
		}
		wg.Wait()
	}
}
