package mcpclients

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
	stopDrain  = 200 * time.Millisecond // for output that is still in the pipes
)

// A process is a child with its three pipes, in a process group of its own.
type process struct {
	cmd                   *exec.Cmd
	stdin, stdout, stderr *os.File
	exited                chan struct{}
}

// startProcess starts cmd. A goroutine locked to its thread owns the child for
// life: on Linux the child's parent-death signal is tied to the thread that
// started it.
func startProcess(cmd *exec.Cmd) (*process, error) {
	p := &process{cmd: cmd, exited: make(chan struct{})}
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
			close(p.exited)
		}
	}()
	err = <-started
	closeAll(childEnds)
	if err != nil {
		closeAll([]*os.File{p.stdin, p.stdout, p.stderr})
		return nil, err
	}
	return p, nil
}

// openPipes makes the pipes and returns the child's ends of them.
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
	p.cmd.Stdin, p.stdin = files[0], files[1]
	p.stdout, p.cmd.Stdout = files[2], files[3]
	p.stderr, p.cmd.Stderr = files[4], files[5]
	return []*os.File{files[0], files[3], files[5]}, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

// stop walks the ladder until the process is gone, then kills what is left of its
// group.
func (p *process) stop() {
	_ = p.stdin.Close()
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
	case <-p.exited:
		return true
	case <-timer.C:
		return false
	}
}

// outcome says how the process ended.
func (p *process) outcome() error {
	select {
	case <-p.exited:
	default:
		return errors.New("the process closed its output")
	}
	return fmt.Errorf("the process ended (%s)", p.cmd.ProcessState)
}
