//go:build unix && !linux

package transport

import (
	"os/exec"
	"syscall"
)

// setAttributes puts the child into its own group.
func setAttributes(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}
