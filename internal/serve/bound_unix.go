//go:build unix

package serve

import "syscall"

// descriptors returns how many the process may have open, up to the useful maximum.
func descriptors() int {
	const many = 1 << 20
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return many
	}
	return int(min(limit.Cur, many))
}
