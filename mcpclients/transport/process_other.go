//go:build !unix

package transport

import (
	"os"
	"os/exec"
)

// setAttributes has nothing to set where there are no process groups.
func setAttributes(*exec.Cmd) {}

// signalGroup kills the child itself; these systems know no softer way.
func signalGroup(p *os.Process, _ bool) {
	_ = p.Kill()
}
