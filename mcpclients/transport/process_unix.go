//go:build unix && !linux

package transport

import (
	"os"
	"os/exec"
	"syscall"
)

// setAttributes puts the child into its own group.
func setAttributes(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

// widen does nothing: the size of a pipe is the system's matter here.
func widen(*os.File) {}
