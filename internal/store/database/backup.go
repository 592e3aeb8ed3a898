package database

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrOwnTools means that PostgreSQL's own tools do it better.
var ErrOwnTools = errors.New("a PostgreSQL database is checked and backed up with its own tools: pg_amcheck and pg_dump")

// Backup writes a compact copy of the database to a new file, mode 0600, while reads and
// writes continue. The database is checked before, the copy after; the file appears under its
// name only if both are sound. It refuses an existing file with fs.ErrExist, a PostgreSQL
// database with [ErrOwnTools].
func (d *DB) Backup(ctx context.Context, file string) error {
	if d.Writing == nil {
		return ErrOwnTools
	}
	if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("backup to %q: %w; choose a new name", file, fs.ErrExist)
	}
	if err := d.Check(ctx); err != nil {
		return err
	}
	// In the same folder, so that the last step is one rename.
	dir, err := os.MkdirTemp(filepath.Dir(file), ".molar-backup-")
	if err != nil {
		return fmt.Errorf("backup to %q: %w", file, err)
	}
	defer os.RemoveAll(dir)
	part := filepath.Join(dir, "molar.db")
	if err := d.copyTo(ctx, part); err != nil {
		return fmt.Errorf("backup to %q: %w", file, err)
	}
	// Unlike a rename, a link does not overwrite a file that appeared meanwhile.
	if err := os.Link(part, file); err != nil {
		return fmt.Errorf("backup to %q: %w", file, err)
	}
	return syncPath(filepath.Dir(file))
}

func (d *DB) copyTo(ctx context.Context, part string) error {
	// The read pool may not write, and the pool of writers would be blocked for long.
	pool, err := d.openPool(1, "synchronous(FULL)")
	if err != nil {
		return err
	}
	_, err = pool.ExecContext(ctx, "VACUUM INTO $1", part)
	if err := errors.Join(err, pool.Close()); err != nil {
		return d.Fault("copy the database", err)
	}
	if err := os.Chmod(part, 0o600); err != nil {
		return err
	}
	backup, err := Open(ctx, Config{Path: part, Logger: d.Log, Now: d.now})
	if err != nil {
		return err
	}
	if err := errors.Join(backup.Check(ctx), backup.Close()); err != nil {
		return err
	}
	return syncPath(part)
}

// syncPath syncs a file, or the names in a folder, to the disk.
func syncPath(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
