//go:build unix

package database

import (
	"os"
	"syscall"
)

// A presence shows other processes that this one has the database open. It is a lock on a
// separate file, which ends with the process in any case. Nil shows nothing.
type presence struct{ file *os.File }

// enter reports whether no other process has the database open. Until [presence.stay] none can
// get the same result. If the file cannot be made, alone is false.
func enter(path string) (p *presence, alone bool) {
	f, err := os.OpenFile(path+"-open", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, false
	}
	return &presence{f}, syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}

// openMark is what the file holds while any process has the database open.
const openMark = "open\n"

// wasOpen reports whether the last process that had the database open did not close it. It is called
// before [presence.stay], by a process that is alone.
func (p *presence) wasOpen() bool {
	mark := make([]byte, len(openMark))
	n, _ := p.file.ReadAt(mark, 0)
	return string(mark[:n]) == openMark
}

// stay marks the database as open and downgrades the lock to a shared one: others may enter.
func (p *presence) stay() {
	if p != nil {
		_, _ = p.file.WriteAt([]byte(openMark), 0)           // else a missing log is not noticed
		_ = syscall.Flock(int(p.file.Fd()), syscall.LOCK_SH) // else others wait for leases to expire
	}
}

// leave ends the presence. The last process removes the mark.
func (p *presence) leave() error {
	if p == nil {
		return nil
	}
	if syscall.Flock(int(p.file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
		_ = p.file.Truncate(0) // else the next start finds a log missing, and a restart helps
	}
	return p.file.Close()
}
