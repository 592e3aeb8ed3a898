package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestEval_opensNoSocket watches a replay from outside: strace sees every system call of the
// network. Where strace cannot be used, the program runs in an empty network namespace.
func TestEval_opensNoSocket(t *testing.T) {
	long(t, "the program is built and traced")
	t.Parallel()
	judged, _ := judgedCase(t, "{judge: It names the family., grounded: true}")
	accept(t, judgedBy(t, says("pass", "And once more")), judged, "--judge", "live")
	seen := filepath.Join(t.TempDir(), "calls")
	traced := []string{"strace", "-f", "-qq", "-yy", "-e", "trace=network,execve", "-e", "signal=none", "-o"}
	alone := []string{"unshare", "-r", "-n"}
	words, program := slices.Concat(traced, []string{seen}), []string{molarProgram(t), "eval", "run", suites, judged}
	if canRun(t, slices.Concat(traced, []string{os.DevNull})) != nil {
		words = alone
		if err := canRun(t, alone); err != nil {
			t.Skipf("neither strace nor unshare can be used here: %v", err)
		}
	}
	args := slices.Concat(words[1:], program)
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
}

// canRun reports why a program cannot be run by another here, and nil where it can.
func canRun(t *testing.T, words []string) error {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), words[0], append(slices.Clone(words[1:]), "true")...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", words[0], err, out)
	}
	return nil
}
