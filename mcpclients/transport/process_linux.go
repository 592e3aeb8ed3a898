package transport

import (
	"os/exec"
	"syscall"
)

// setAttributes puts the child into its own group, and lets the kernel kill it
// when the host dies.
func setAttributes(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
