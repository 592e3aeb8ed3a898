package testkit

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// Start runs cmd with the slave side as its standard streams and controlling terminal, and
// returns the master: writing to it types, and reading from it returns the output. A read fails
// once the program has ended. The caller closes it and waits for cmd.
func Start(cmd *exec.Cmd, columns, rows uint16) (*os.File, error) {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, fmt.Errorf("open a pseudo terminal: %w", err)
	}
	slave, err := open(master, columns, rows)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open a pseudo terminal: %w", err), master.Close())
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	err = errors.Join(cmd.Start(), slave.Close())
	if err != nil {
		return nil, errors.Join(err, master.Close())
	}
	return master, nil
}

func open(master *os.File, columns, rows uint16) (*os.File, error) {
	var slave *os.File
	raw, err := master.SyscallConn()
	if err != nil {
		return nil, err
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		n, err := unix.IoctlGetInt(int(fd), unix.TIOCGPTN)
		if err == nil {
			err = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0)
		}
		if err == nil {
			err = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: columns})
		}
		if err == nil {
			slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
		}
		failed = err
	})
	return slave, errors.Join(err, failed)
}
