package documents

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// mostMemory bounds the memory of each process of a program, in bytes.
const mostMemory = 2 << 30

// setGroup puts the program into its own group, and lets the kernel kill it when the host dies.
func setGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// limitMemory bounds what a program that has begun, and all that it starts, may write to: not its address
// space, of which some reserve far more than they use. Where the system forbids it, there is no limit.
func limitMemory(p *os.Process) {
	var limit unix.Rlimit
	if err := unix.Prlimit(p.Pid, unix.RLIMIT_DATA, nil, &limit); err != nil {
		return
	}
	limit.Max = min(limit.Max, mostMemory)
	limit.Cur = min(limit.Cur, limit.Max)
	_ = unix.Prlimit(p.Pid, unix.RLIMIT_DATA, &limit, nil)
}
