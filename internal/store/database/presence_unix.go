//go:build unix

package database

import (
	"os"
	"syscall"
)

// A presence shows other processes that this one has the database open. It is a lock on a
// file of its own, which ends with the process, however that ends. Nil shows nothing.
type presence struct{ file *os.File }

// enter reports whether nobody else has the database open. Until [presence.stay] nobody else
// can find the same. Where no such file can be made, nobody is known to be alone.
func enter(path string) (p *presence, alone bool) {
	f, err := os.OpenFile(path+"-open", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, false
	}
	return &presence{f}, syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}

// stay lets others in and goes on being present.
func (p *presence) stay() {
	if p != nil {
		_ = syscall.Flock(int(p.file.Fd()), syscall.LOCK_SH) // else others wait for leases to expire
	}
}

// leave ends the presence.
func (p *presence) leave() error {
	if p == nil {
		return nil
	}
	return p.file.Close()
}
