//go:build unix

package documents

import (
	"os"
	"syscall"
)

// killGroup kills a program and all that it started.
func killGroup(p *os.Process) error { return syscall.Kill(-p.Pid, syscall.SIGKILL) }
