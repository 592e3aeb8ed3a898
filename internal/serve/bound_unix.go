//go:build unix

package serve

import "syscall"

// descriptors is how many the process may have open, as far as that counts.
func descriptors() int {
	const many = 1 << 20
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return many
	}
	return int(min(limit.Cur, many))
}
