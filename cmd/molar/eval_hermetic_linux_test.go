package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestEval_opensNoSocket watches a replay from outside: strace sees every system call of
// the network, and in a network namespace of its own the program has nothing to reach.
func TestEval_opensNoSocket(t *testing.T) {
	long(t, "the program is built and traced")
	t.Parallel()
	for name, words := range map[string][]string{
		"traced": {"strace", "-f", "-qq", "-yy", "-e", "trace=network,execve", "-e", "signal=none", "-o"},
		"alone":  {"unshare", "-r", "-n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if out, err := exec.CommandContext(t.Context(), words[0], probeOf(words)...).CombinedOutput(); err != nil {
				t.Skipf("%s cannot be used here: %v %s", words[0], err, out)
			}
			seen := filepath.Join(t.TempDir(), "calls")
			args := words[1:]
			if words[len(words)-1] == "-o" {
				args = append(slices.Clip(args), seen)
			}
			args = append(args, molarProgram(t), "eval", "run", suites)
			cmd := exec.CommandContext(t.Context(), words[0], args...)
			cmd.Env = []string{"HOME=" + t.TempDir(), "PATH=" + t.TempDir()}
			out, failed := cmd.CombinedOutput()
			if words[0] == "strace" { // first: what was opened may be why a case failed
				calls, err := os.ReadFile(seen)
				if err != nil {
					t.Errorf("strace left no list of calls: %v", err)
				}
				lines := strings.Split(strings.TrimSpace(string(calls)), "\n")
				if len(lines) != 1 || !strings.Contains(lines[0], "execve(") {
					t.Errorf("a replay made these calls, and should only have begun:\n%s", calls)
				}
			}
			if failed != nil {
				t.Errorf("cases failed, or could not be run: %v\n%s", failed, out)
			}
		})
	}
}

// probeOf are arguments that show whether a tool can be used at all.
func probeOf(words []string) []string {
	if words[0] == "strace" {
		return []string{"-o", os.DevNull, "true"}
	}
	return append(slices.Clip(words[1:]), "true")
}
