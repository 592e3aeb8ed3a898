//go:build unix

package transport

import (
	"os"
	"syscall"
)

// signalGroup terminates the child's whole group, or kills it. It ignores a group that is already
// gone.
func signalGroup(p *os.Process, kill bool) {
	sig := syscall.SIGTERM
	if kill {
		sig = syscall.SIGKILL
	}
	_ = syscall.Kill(-p.Pid, sig)
}
