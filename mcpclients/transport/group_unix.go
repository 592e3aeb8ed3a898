//go:build unix

package transport

import (
	"os"
	"syscall"
)

// signalGroup asks the child's whole group to terminate, or kills it. A group that
// is gone already is no error.
func signalGroup(p *os.Process, kill bool) {
	sig := syscall.SIGTERM
	if kill {
		sig = syscall.SIGKILL
	}
	_ = syscall.Kill(-p.Pid, sig)
}
