//go:build unix

package storetest

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"strings"
	"syscall"
)

// immediateStop makes a server end without a checkpoint.
func immediateStop() os.Signal { return syscall.SIGQUIT }

// servant returns the user for a server of root's tests: PostgreSQL refuses to run as root.
func servant() (uid, gid int) {
	if os.Getuid() == 0 {
		for _, name := range []string{"postgres", "nobody"} {
			u, err := user.Lookup(name)
			if err != nil {
				continue
			}
			uid, _ = strconv.Atoi(u.Uid) // numbers on these systems
			gid, _ = strconv.Atoi(u.Gid)
			return uid, gid
		}
	}
	return os.Getuid(), os.Getgid()
}

func giveAway(dir string) error {
	uid, gid := servant()
	return os.Chown(dir, uid, gid)
}

func unprivileged(cmd *exec.Cmd) {
	cmd.Dir = "/" // the working folder may be closed to that user
	uid, gid := servant()
	if uid == os.Getuid() {
		return
	}
	//nolint:gosec // both come from the system's list of users
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
}

// freeze stops a process and its children, or continues them. A child that is started in
// between is stopped with what it waits for.
func freeze(pid int, stop bool) error {
	signal := syscall.SIGCONT
	if stop {
		signal = syscall.SIGSTOP
	}
	if err := syscall.Kill(pid, signal); err != nil {
		return err
	}
	children, err := os.ReadFile(fmt.Sprintf("/proc/%[1]d/task/%[1]d/children", pid))
	if err != nil {
		return err
	}
	for child := range strings.FieldsSeq(string(children)) {
		if id, err := strconv.Atoi(child); err == nil {
			_ = syscall.Kill(id, signal) // it may have ended
		}
	}
	return nil
}
