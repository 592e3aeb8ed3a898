//go:build !unix

package documents

import (
	"os"
	"os/exec"
)

// setGroup does nothing: these systems have no process groups.
func setGroup(*exec.Cmd) {}

// killGroup kills the program.
func killGroup(p *os.Process) error { return p.Kill() }

// wasEnded returns false: these systems do not tell.
func wasEnded(*os.ProcessState) bool { return false }

// limitMemory does nothing: these systems limit no other process.
func limitMemory(*os.Process) {}
