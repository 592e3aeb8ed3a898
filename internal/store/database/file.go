package database

import (
	"errors"
	"io/fs"
	"os"
)

// CheckFile reports whether the SQLite file is still at its path: SQLite itself goes on writing to a
// file that was moved or deleted. It does nothing on PostgreSQL.
func (d *DB) CheckFile() error {
	if d.file == nil {
		return nil
	}
	now, err := os.Stat(d.name)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && !os.SameFile(now, d.file):
		return &Error{Op: "check the file", Path: d.name, Kind: KindMoved}
	}
	return nil // the statement itself reports any other fault
}

// hasLog reports whether a write-ahead log exists, and whether it holds anything. The last process to
// close the file removes it: an existing one means that a process was killed, or has the file open
// now.
func (d *DB) hasLog() (exists, holds bool) {
	info, err := os.Stat(d.name + "-wal")
	return err == nil, err == nil && info.Size() > 0
}
