//go:build unix

package database

import "syscall"

// The file system's errors when it cannot take more.
const (
	errNoSpace    = syscall.ENOSPC
	errReadOnlyFS = syscall.EROFS
)
