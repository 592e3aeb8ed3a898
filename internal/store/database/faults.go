package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// A Kind is a kind of database fault.
type Kind string

// The kinds of [Error].
const (
	KindCorrupt    Kind = "corrupt"
	KindForeign    Kind = "foreign"
	KindNewer      Kind = "newer"
	KindLocked     Kind = "locked"
	KindFull       Kind = "full"
	KindReadOnly   Kind = "read-only"
	KindPermission Kind = "permission"
	KindMissing    Kind = "missing"
	KindAbsent     Kind = "absent"
	// KindMoved and KindLogLost occur with SQLite only.
	KindMoved   Kind = "moved"
	KindLogLost Kind = "log lost"
	KindIO      Kind = "io"
	KindClosed  Kind = "closed"
	// KindUnreachable and the two after it occur with PostgreSQL only.
	KindUnreachable Kind = "unreachable"
	KindRefused     Kind = "refused"
	KindDamaged     Kind = "damaged"
	KindOther       Kind = "other"
)

// A RefusalError refuses a request while the database itself is well. Compare with errors.Is.
type RefusalError string

// Refusals by the database itself.
const (
	// ErrConflict means that a write contradicts the stored data.
	ErrConflict = RefusalError("conflict with what is stored")
	// ErrInvalid means that the request makes no sense.
	ErrInvalid = RefusalError("invalid request")
)

// Error implements error.
func (r RefusalError) Error() string { return string(r) }

// Error is a fault of the database, not of the request. Its text names the database and what
// to do.
type Error struct {
	// Op is the attempted operation, such as "save turn".
	Op string
	// Path is the database file, or the URL without its password.
	Path string
	Kind Kind
	// Err is the fault as reported by the database or the system.
	Err error
}

// Error implements error.
func (e *Error) Error() string {
	msg := fmt.Sprintf("%s: database %q", e.Op, e.Path)
	if advice := e.Kind.advice(); advice != "" {
		msg += " " + advice
	}
	if e.Err == nil {
		return msg
	}
	return msg + ": " + e.Err.Error()
}

// Public returns the text for clients: without the place of the database and the system's
// error, which are for the log.
func (e *Error) Public() string {
	if advice := e.Kind.advice(); advice != "" {
		return e.Op + ": the database " + advice
	}
	return e.Op + ": the database failed; the server's log says how"
}

// Unwrap returns the fault below.
func (e *Error) Unwrap() error { return e.Err }

// advice returns what to do about a kind of fault; empty for [KindOther].
func (k Kind) advice() string {
	return map[Kind]string{
		KindCorrupt:     "is not a sound SQLite file; move it away and restore a backup",
		KindForeign:     "belongs to something else; choose another path",
		KindNewer:       "was written by a newer molar; upgrade molar, or choose another path",
		KindLocked:      "is locked by another process; stop that process or try again",
		KindFull:        "cannot grow, the disk is full; free some space",
		KindReadOnly:    "is read-only; make the file and its folder writable",
		KindPermission:  "may not be opened by this user; change the owner or mode of the file and its folder",
		KindMissing:     "cannot be opened; check that its folder exists and that this user may write to it",
		KindAbsent:      "does not exist; check memory.store, or state, in the config that is read",
		KindMoved:       "was moved, deleted or replaced while molar runs; put the file back, or restart molar",
		KindLogLost:     "was not closed by its last process, and its log (-wal) is missing, so its newest changes are lost; stop molar and put the log back, or restart molar to go on without them",
		KindClosed:      "is closed",
		KindUnreachable: "does not answer; check that it runs, and host and port in memory.store",
		KindRefused:     "refuses this user; check user, password, database and grants of memory.store",
		KindDamaged:     "reports an internal error; see its log",
		KindIO:          "cannot be read or written; check the disk",
	}[k]
}

// KindOf maps a fault of SQLite or of the file system to its kind.
func KindOf(err error) Kind {
	if se, ok := errors.AsType[*sqlite.Error](err); ok {
		if se.Code() == sqlite3.SQLITE_IOERR_SHMSIZE {
			return KindFull // what a full disk returns when the file is opened
		}
		// The low byte is the primary result code.
		switch se.Code() & 0xff {
		case sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT:
			return KindCorrupt
		case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
			return KindLocked
		case sqlite3.SQLITE_FULL:
			return KindFull
		case sqlite3.SQLITE_READONLY:
			return KindReadOnly
		case sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH:
			return KindPermission
		case sqlite3.SQLITE_CANTOPEN:
			return KindMissing
		case sqlite3.SQLITE_IOERR:
			return KindIO
		}
		return KindOther
	}
	if kind, ok := postgresKind(err); ok {
		return kind
	}
	switch {
	case errors.Is(err, fs.ErrPermission):
		return KindPermission
	case errors.Is(err, fs.ErrNotExist):
		return KindMissing
	case errors.Is(err, errNoSpace):
		return KindFull
	case errors.Is(err, errReadOnlyFS):
		return KindReadOnly
	case errors.Is(err, sql.ErrConnDone), err.Error() == "sql: database is closed":
		return KindClosed
	}
	return KindOther
}

// Found is [DB.Fault] for the read of one row; ok is false if there is none, which is not a
// fault.
func (d *DB) Found(op string, err error) (ok bool, _ error) {
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, d.Fault(op, err)
}

// Fault wraps err for the caller. An error that the caller itself caused keeps its text, after
// the operation.
func (d *DB) Fault(op string, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*Error](err); ok {
		return err
	}
	_, refused := errors.AsType[RefusalError](err)
	if refused || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%s: %w", op, err)
	}
	if refusal := postgresRefusal(err); refusal != nil {
		return fmt.Errorf("%s: %w: %w", op, refusal, err)
	}
	return &Error{Op: op, Path: d.name, Kind: KindOf(err), Err: err}
}
