//go:build unix

package testkit

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// Freeze stops a process and returns once none of its threads runs. The signal alone is not
// enough: it is delivered to one thread, and until that one is scheduled the others continue.
func Freeze(tb testing.TB, pid int) {
	tb.Helper()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		tb.Fatal(err)
	}
	const patience = 10 * time.Second
	for deadline := time.Now().Add(patience); !frozen(pid); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			tb.Fatalf("process %d has not stopped within %s", pid, patience)
		}
	}
}

// frozen reports whether every thread has stopped, as far as the system can tell.
func frozen(pid int) bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid)) // the pattern is good
	for _, thread := range threads {
		stat, err := os.ReadFile(thread)
		if err != nil {
			continue // it has ended
		}
		// The state follows the name, which may contain parentheses itself.
		if !bytes.HasPrefix(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" T")) {
			return false
		}
	}
	return true
}
