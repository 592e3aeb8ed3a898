package main

import (
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
)

// releaseStart gives back what only the start needed: garbage on the heap, and the
// resident pages of the program's code and constants. Every linked package runs its initialisation
// once, which leaves most of the code resident; the kernel brings back from its cache
// what is run again. It changes nothing but memory, so faults are not worth a word.
func releaseStart() {
	debug.FreeOSMemory()
	program, err := os.Executable()
	if err != nil {
		return
	}
	maps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		return
	}
	for _, m := range codeMappings(string(maps), program) {
		_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, m.start, m.length, syscall.MADV_DONTNEED)
	}
}

// A mapping is a range of addresses.
type mapping struct{ start, length uintptr }

// codeMappings finds, in the text of /proc/self/smaps, the code and constants of the program. What
// may be written to, or was (a debugger's break points), is left alone: only pages
// that equal the file may go. The format is described in proc_pid_smaps(5).
func codeMappings(smaps, program string) []mapping {
	var found []mapping
	var code mapping
	for line := range strings.Lines(smaps) {
		fields := strings.Fields(line)
		switch {
		case len(fields) >= 2 && strings.Contains(fields[0], "-"):
			code = mapping{}
			if len(fields) >= 6 && (fields[1] == "r-xp" || fields[1] == "r--p") && strings.Join(fields[5:], " ") == program {
				code = addresses(fields[0])
			}
		case code.length > 0 && len(fields) == 3 && fields[0] == "Anonymous:" && fields[1] == "0":
			found = append(found, code)
		}
	}
	return found
}

// addresses reads START-END in hexadecimal; what is neither gives an empty mapping.
func addresses(text string) mapping {
	from, to, _ := strings.Cut(text, "-")
	start, err := strconv.ParseUint(from, 16, strconv.IntSize)
	if err != nil {
		return mapping{}
	}
	end, err := strconv.ParseUint(to, 16, strconv.IntSize)
	if err != nil || end < start {
		return mapping{}
	}
	return mapping{start: uintptr(start), length: uintptr(end - start)}
}
