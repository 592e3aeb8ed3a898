//go:build unix

package documents

import (
	"os"
	"slices"
	"syscall"
)

// killGroup kills a program and all that it started.
func killGroup(p *os.Process) error { return syscall.Kill(-p.Pid, syscall.SIGKILL) }

// wasEnded reports whether somebody else ended a program: the system without memory, or its operator.
func wasEnded(p *os.ProcessState) bool {
	status, ok := p.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && slices.Contains([]syscall.Signal{syscall.SIGKILL, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP}, status.Signal())
}
