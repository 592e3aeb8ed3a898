package documents

import (
	"os/exec"
	"syscall"
)

// setGroup puts the program into its own group, and lets the kernel kill it when the host dies.
func setGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
