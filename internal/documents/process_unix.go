//go:build unix && !linux

package documents

import (
	"os"
	"os/exec"
	"syscall"
)

// setGroup puts the program into its own group.
func setGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

// limitMemory does nothing: these systems limit no other process.
func limitMemory(*os.Process) {}
