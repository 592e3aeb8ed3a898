//go:build unix && !linux

package documents

import (
	"os/exec"
	"syscall"
)

// setGroup puts the program into its own group.
func setGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}
