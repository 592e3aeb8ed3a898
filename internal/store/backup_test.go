package store_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"molar/internal/store"
	"molar/internal/store/database"
)

func TestDB_Backup(t *testing.T) {
	dir := t.TempDir()
	db := open(t, filepath.Join(dir, "m.db"))
	saveTurn(t, db, "c", "t1", "hello")
	file := filepath.Join(dir, "backup.db")
	ctx, cancel := context.WithCancel(t.Context())
	var writer sync.WaitGroup
	writer.Go(func() { // turns go on meanwhile
		for i := 0; ctx.Err() == nil; i++ {
			saveTurn(t, db, "busy", "b"+string(rune('a'+i)), "x")
		}
	})
	err := db.Backup(t.Context(), file)
	cancel()
	writer.Wait()
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	messages, _, err := open(t, file).Messages(t.Context(), "", "c", store.MessageRange{})
	if err != nil || len(messages) != 2 {
		t.Errorf("%d messages in the backup, %v", len(messages), err)
	}
	if err := db.Backup(t.Context(), file); !errors.Is(err, fs.ErrExist) {
		t.Errorf("overwriting: %v", err)
	}
	if err := db.Backup(t.Context(), filepath.Join(dir, "none", "b.db")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder that is missing: %v", err)
	}
	left, err := filepath.Glob(filepath.Join(dir, ".molar-backup-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// damage makes an index contradict its table, as a lost write would.
func damage(t *testing.T, path string) {
	t.Helper()
	raw(t, path, `PRAGMA writable_schema = ON;
		UPDATE sqlite_schema SET sql = replace(sql, '(updated_at, num)', '(created_at, num)') WHERE name = 'conversations_recent';`)
}

func TestDB_Backup_refusesDamage(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "m.db")
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	db, err := store.Open(t.Context(), store.Config{Path: path, Now: func() time.Time { now = now.Add(time.Second); return now }})
	if err != nil {
		t.Fatal(err)
	}
	saveTurn(t, db, "c", "t1", "x")
	saveTurn(t, db, "c", "t2", "y")
	if err := errors.Join(db.Check(t.Context()), db.Close()); err != nil {
		t.Fatal(err)
	}
	damage(t, path)
	db = open(t, path)
	err = db.Backup(t.Context(), filepath.Join(dir, "b.db"))
	if fault, ok := errors.AsType[*database.Error](err); !ok || fault.Kind != database.KindCorrupt {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "b.db")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("a backup of a damaged file was left")
	}
}

// A file that somebody was killed over is checked in the background.
func TestOpen_ChecksAfterAnUncleanStop(t *testing.T) {
	for name, c := range map[string]struct {
		damaged bool
		says    string
	}{
		"sound":   {false, "is sound after an unclean stop"},
		"damaged": {true, "the database is damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "m.db")
			db := open(t, path)
			for i := range 5 {
				saveTurn(t, db, "c", string(rune('a'+i)), strings.Repeat("x", 80_000))
			}
			// What a killed process leaves: the file, and a log beside it.
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			if c.damaged {
				scribble(t, path)
			}
			if err := os.WriteFile(path+"-wal", make([]byte, 32), 0o600); err != nil {
				t.Fatal(err)
			}
			log := &syncBuffer{wrote: make(chan struct{}, 10)}
			db, err := store.Open(t.Context(), store.Config{
				Path: path, Logger: slog.New(slog.NewTextHandler(log, nil)), CheckDelay: time.Microsecond,
			})
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			<-log.wrote
			if !strings.Contains(log.String(), c.says) {
				t.Errorf("log: %s", log)
			}
			if err := db.Ping(t.Context()); (err != nil) != c.damaged {
				t.Errorf("ping: %v", err)
			}
		})
	}
}

// scribble overwrites the end of the file.
func scribble(t *testing.T, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	from := emptySize(t)
	if _, err := f.WriteAt(bytes.Repeat([]byte{0xa5}, int(info.Size()-from)), from); err != nil {
		t.Fatal(err)
	}
}

// emptySize returns the size of a file with the tables of an empty database, behind which the rows stand.
func emptySize(t *testing.T) int64 {
	t.Helper()
	path := filepath.Join(t.TempDir(), "empty.db")
	if err := open(t, path).Close(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

type syncBuffer struct {
	mu    sync.Mutex
	buf   bytes.Buffer
	wrote chan struct{}
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wrote <- struct{}{}
	return b.buf.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
