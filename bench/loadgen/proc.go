package loadgen

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of /proc/PID/stat; it is 10 ms on every Linux that Go runs on.
const tick = 10 * time.Millisecond

// A Process is what the kernel says of a process at one moment.
type Process struct {
	// CPU is user and system time so far, exact to 10 ms.
	CPU time.Duration
	// RSS and Anon are resident memory, all of it and the anonymous part, in kB.
	RSS, Anon int64
}

// ReadProcess reads /proc. With PID 0 it returns nothing.
func ReadProcess(pid int) (Process, error) {
	if pid == 0 {
		return Process{}, nil
	}
	folder := "/proc/" + strconv.Itoa(pid)
	stat, err := os.ReadFile(folder + "/stat")
	if err != nil {
		return Process{}, fmt.Errorf("read the server process: %w", err)
	}
	status, err := os.ReadFile(folder + "/status")
	if err != nil {
		return Process{}, fmt.Errorf("read the server process: %w", err)
	}
	return parseProcess(stat, status)
}

func parseProcess(stat, status []byte) (Process, error) {
	// The second field is the program's name in brackets and may hold anything; what
	// follows its end is the third field on. utime is 14, stime 15; see proc(5).
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 13 {
		return Process{}, fmt.Errorf("stat has %d fields", len(fields))
	}
	user, err := strconv.ParseInt(string(fields[11]), 10, 64)
	if err != nil {
		return Process{}, fmt.Errorf("utime: %w", err)
	}
	system, err := strconv.ParseInt(string(fields[12]), 10, 64)
	if err != nil {
		return Process{}, fmt.Errorf("stime: %w", err)
	}
	p := Process{CPU: time.Duration(user+system) * tick}
	for line := range strings.Lines(string(status)) {
		key, value, _ := strings.Cut(line, ":")
		kb, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		switch {
		case err != nil:
		case key == "VmRSS":
			p.RSS = kb
		case key == "RssAnon":
			p.Anon = kb
		}
	}
	return p, nil
}
