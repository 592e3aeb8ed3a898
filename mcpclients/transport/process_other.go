//go:build !unix

package transport

import (
	"os"
	"os/exec"
)

// setAttributes does nothing: these systems have no process groups.
func setAttributes(*exec.Cmd) {}

// signalGroup kills the child itself; these systems have no softer signal.
func signalGroup(p *os.Process, _ bool) {
	_ = p.Kill()
}

// widen does nothing: the size of a pipe is the system's matter here.
func widen(*os.File) {}
