package transport

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"time"
)

// The shutdown ladder.
const (
	stopPolite = 500 * time.Millisecond // after closing standard input
	stopTerm   = 2 * time.Second        // after asking the group to terminate
	stopKill   = 2 * time.Second        // after killing the group
)

// A Process is a child with its three pipes, in its own process group.
type process struct {
	cmd                   *exec.Cmd
	Stdin, Stdout, Stderr *os.File
	// Exited is closed when the process has ended.
	Exited chan struct{}
}

// start starts cmd. A goroutine locked to its thread owns the child until it exits: on Linux the
// child's parent-death signal is tied to the thread that started it.
func start(cmd *exec.Cmd) (*process, error) {
	p := &process{cmd: cmd, Exited: make(chan struct{})}
	childEnds, err := p.openPipes()
	if err != nil {
		return nil, fmt.Errorf("open pipes: %w", err)
	}
	setAttributes(cmd)
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // the outcome is read from cmd.ProcessState
			close(p.Exited)
		}
	}()
	err = <-started
	closeAll(childEnds)
	if err != nil {
		closeAll([]*os.File{p.Stdin, p.Stdout, p.Stderr})
		return nil, err
	}
	return p, nil
}

// openPipes opens the pipes and returns the child's ends.
func (p *process) openPipes() ([]*os.File, error) {
	var files []*os.File
	for range 3 {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(files)
			return nil, err
		}
		files = append(files, r, w)
	}
	p.cmd.Stdin, p.Stdin = files[0], files[1]
	p.Stdout, p.cmd.Stdout = files[2], files[3]
	p.Stderr, p.cmd.Stderr = files[4], files[5]
	widen(p.Stderr)
	return []*os.File{files[0], files[3], files[5]}, nil
}

// closeAll closes files.
func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

// Stop escalates until the process has ended, then kills the rest of its group.
func (p *process) Stop() {
	_ = p.Stdin.Close()
	if !p.goneWithin(stopPolite) {
		signalGroup(p.cmd.Process, false)
		if !p.goneWithin(stopTerm) {
			signalGroup(p.cmd.Process, true)
			p.goneWithin(stopKill)
		}
	}
	signalGroup(p.cmd.Process, true)
}

func (p *process) goneWithin(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-p.Exited:
		return true
	case <-timer.C:
		return false
	}
}

// Outcome returns how the process ended.
func (p *process) Outcome() error {
	select {
	case <-p.Exited:
	default:
		return errors.New("the process closed its output")
	}
	return fmt.Errorf("the process ended (%s)", p.cmd.ProcessState)
}
