package database

import (
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// postgresKind maps a fault of PostgreSQL, or of the connection, to its kind; ok is false for
// other errors. The codes are those of appendix A of its manual.
func postgresKind(err error) (kind Kind, ok bool) {
	if pe, is := errors.AsType[*pgconn.PgError](err); is {
		return stateKind(pe.Code), true
	}
	if _, is := errors.AsType[*pgconn.ConnectError](err); is {
		return KindUnreachable, true
	}
	if _, is := errors.AsType[*net.OpError](err); is {
		return KindUnreachable, true
	}
	for _, gone := range []error{driver.ErrBadConn, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed} {
		if errors.Is(err, gone) {
			return KindUnreachable, true
		}
	}
	// pgx returns this for a connection that broke earlier; there is no error value.
	if err.Error() == "conn closed" {
		return KindUnreachable, true
	}
	return KindOther, false
}

func stateKind(code string) Kind {
	switch {
	case code == "55P03", code == "25P03":
		return KindLocked
	case code == "53100":
		return KindFull
	case code == "42501":
		return KindRefused
	case strings.HasPrefix(code, "28"), strings.HasPrefix(code, "3D"):
		return KindRefused
	case strings.HasPrefix(code, "XX0"), strings.HasPrefix(code, "58"):
		return KindDamaged
	case strings.HasPrefix(code, "57P"), strings.HasPrefix(code, "08"), code == "53300":
		return KindUnreachable
	}
	return KindOther
}

// rolledBackForOthers reports whether PostgreSQL rolled a transaction back only because it was
// in another one's way: it may run again.
func rolledBackForOthers(err error) bool {
	pe, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (pe.Code == "40001" || pe.Code == "40P01")
}

// postgresRefusal returns the refusal that a fault of PostgreSQL means, or nil.
func postgresRefusal(err error) error {
	pe, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return nil
	}
	switch pe.Code {
	case "23505": // unique violation
		return ErrConflict
	case "22021", "54000": // a NUL in an id, a key too long for an index
		return ErrInvalid
	}
	return nil
}
