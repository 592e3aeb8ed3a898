package crash_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"molar/internal/testkit/crash"
)

// The host's disk loses its power together with the host. With commits that do not wait
// for the disk the checker must find something missing.
func TestKillHost_powerCut(t *testing.T) {
	for name, c := range map[string]struct {
		tags  string
		lossy bool
	}{
		"commits wait for the disk":      {"", false},
		"commits do not (synchronous=0)": {"crashlossy", true},
	} {
		t.Run(name, func(t *testing.T) {
			disk := crash.NewDisk(t)
			report := runHost(t, crash.Config{
				Command: serve(t, buildMolar(t, c.tags), filepath.Join(disk.Folder, "memory.db")),
				Cycles:  4,
				Kill: func(child *exec.Cmd) error {
					// First the child, so that it sees no error of the disk.
					if err := child.Process.Kill(); err != nil {
						return err
					}
					return disk.CutPower()
				},
				Between: disk.ComeBack,
			})
			if lost := len(report.Faults) > 0; lost != c.lossy {
				t.Errorf("faults: %q", report.Faults)
			}
		})
	}
}
