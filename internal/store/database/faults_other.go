//go:build !unix

package database

import "errors"

// Other systems report these through SQLite alone.
var (
	errNoSpace    = errors.New("no space left on the disk")
	errReadOnlyFS = errors.New("read-only file system")
)
