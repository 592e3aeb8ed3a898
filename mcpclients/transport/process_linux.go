package transport

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// setAttributes puts the child into its own group, and lets the kernel kill it
// when the host dies.
func setAttributes(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// widen lets a pipe hold a mebibyte. Node drops what does not fit into the pipe of its standard error,
// and writes the source line in front of an error: of a minified program, all of it.
func widen(pipe *os.File) {
	raw, err := pipe.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		_, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, 1<<20) // without it, less is told
	})
}
