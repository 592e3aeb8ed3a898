package main

import (
	"bytes"
	"cmp"
	"fmt"
	"iter"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"molar/internal/testkit"
)

// TestInitTrace keeps the start short: no package may take more than 6 ms of clock
// time to initialise. The best of up to a hundred runs counts, so that a busy
// machine, on which most runs are interrupted, does not fail it; on a machine slower
// than the one for which the bound was set, a yardstick widens it.
func TestInitTrace(t *testing.T) {
	long(t, "molar is started up to a hundred times")
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("the go tool is not in PATH, so no program can be built to measure")
	}
	const least, runs, bound = 5, 100, 6 * time.Millisecond
	const usual = 2900 * time.Microsecond // what the yardstick took where the bound was set
	molar := molarProgram(t)
	home := t.TempDir()
	best := map[string]time.Duration{}
	yardstick, fastest := testkit.Build(t, "molar/cmd/molar/testdata/yardstick"), time.Hour
	most := bound
	within := func(took time.Duration) bool { return took <= most }
	for run := range runs {
		if run >= least && allOf(maps.Values(best), within) {
			break
		}
		fastest = min(fastest, yard(t, yardstick))
		most = max(bound, time.Duration(float64(bound)*float64(fastest)/float64(usual)))
		for name, took := range initTimes(t, molar, home) {
			if before, seen := best[name]; !seen || took < before {
				best[name] = took
			}
		}
	}
	names := make([]string, 0, len(best))
	for name := range best {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(best[b], best[a]) })
	var top strings.Builder
	for _, name := range names[:min(10, len(names))] {
		fmt.Fprintf(&top, "\n%8s %s", best[name], name)
	}
	t.Logf("%d packages initialise themselves; yardstick %s, bound %s; the longest:%s", len(names), fastest, most, top.String())
	if len(names) == 0 || best[names[0]] > most {
		t.Errorf("a package takes more than %s to initialise", most)
	}
	if entries, err := os.ReadDir(home); err != nil || len(entries) > 0 {
		t.Errorf("version left %v in the home folder", entries)
	}
}

// yard runs the yardstick.
func yard(t *testing.T, program string) time.Duration {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), program).Output()
	if err != nil {
		t.Fatal(err)
	}
	micros, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		t.Fatal(err)
	}
	return time.Duration(micros) * time.Microsecond
}

func allOf(took iter.Seq[time.Duration], ok func(time.Duration) bool) bool {
	for d := range took {
		if !ok(d) {
			return false
		}
	}
	return true
}

// initTimes runs "molar version" and returns the clock time that each package took.
func initTimes(t *testing.T, molar, home string) map[string]time.Duration {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), molar, "version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1", "HOME="+home, "USERPROFILE="+home, "XDG_CONFIG_HOME=", "XDG_DATA_HOME=")
	cmd.Dir, cmd.Stdout, cmd.Stderr = home, &stdout, &stderr
	if err := cmd.Run(); err != nil || !strings.HasPrefix(stdout.String(), "molar ") {
		t.Fatalf("molar version: %v\n%s%s", err, stdout.String(), stderr.String())
	}
	line := regexp.MustCompile(`(?m)^init (\S+) @\S+ ms, ([0-9.]+) ms clock`)
	times := map[string]time.Duration{}
	for _, m := range line.FindAllStringSubmatch(stderr.String(), -1) {
		ms, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			t.Fatalf("%v in %q", err, m[0])
		}
		times[m[1]] = time.Duration(ms * float64(time.Millisecond))
	}
	return times
}
