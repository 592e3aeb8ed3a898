//go:build unix

package store

import "syscall"

// What the file system says when it cannot take more.
const (
	errNoSpace    = syscall.ENOSPC
	errReadOnlyFS = syscall.EROFS
)
