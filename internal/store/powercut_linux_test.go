package store_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"molar/internal/testkit/crash"
)

// A loss of power takes what was written but had not reached the disk. A small file
// system of our own is stopped as if that happened: unlike a killed process, it shows
// whether a commit waits for the disk.
func TestPowerCut(t *testing.T) {
	if testing.Short() {
		t.Skip("it stops a file system again and again, which takes seconds")
	}
	for name, c := range map[string]struct {
		env   []string
		lossy bool
	}{
		"commits wait for the disk":      {nil, false},
		"commits do not (synchronous=0)": {[]string{carelessVariable + "=1"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			disk := crash.NewDisk(t)
			report, err := crash.Run(t.Context(), crash.Config{
				Command: childCommand(t, filepath.Join(disk.Folder, "memory.db"), c.env...),
				Cycles:  4, Writers: 4, Seed: 7,
				// A recorded question is safe from the end of the process; only a saved
				// turn waits for the disk.
				ForgetsRecords: true,
				Kill: func(child *exec.Cmd) error {
					// First the child, so that it sees no error of the disk.
					if err := child.Process.Kill(); err != nil {
						return err
					}
					return disk.CutPower()
				},
				Between: disk.ComeBack,
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d cuts, %d turns reported saved, %d cut off", report.Cycles, report.Saved, report.Unsure)
			if lost := len(report.Faults) > 0; lost != c.lossy {
				t.Errorf("faults: %q", report.Faults)
			}
		})
	}
}
