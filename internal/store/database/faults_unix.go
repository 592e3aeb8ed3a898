//go:build unix

package database

import "syscall"

// What the file system says when it cannot take more.
const (
	errNoSpace    = syscall.ENOSPC
	errReadOnlyFS = syscall.EROFS
)
