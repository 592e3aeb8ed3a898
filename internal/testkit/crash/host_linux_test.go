package crash_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"molar/internal/testkit/crash"
)

// The host's disk loses its power together with the host. If commits do not wait for the disk,
// the checker must find missing turns.
func TestKillHost_powerCut(t *testing.T) {
	for name, c := range map[string]struct {
		flags []string
		lossy bool
	}{
		"commits wait for the disk":      {nil, false},
		"commits do not (synchronous=0)": {careless(t), true},
	} {
		t.Run(name, func(t *testing.T) {
			disk := crash.NewDisk(t)
			report := runHost(t, crash.Config{
				Command: serve(t, buildMolar(t, c.flags...), stored(filepath.Join(disk.Folder, "memory.db"))),
				Cycles:  4,
				Kill: func(child *exec.Cmd) error {
					// The child is killed first, so that it sees no error of the disk.
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

// careless returns the flag of go build that overlays a file of these tests on the host, so that
// no commit waits for the disk.
func careless(t *testing.T) []string {
	t.Helper()
	file, err := filepath.Abs(filepath.Join("testdata", "careless.go"))
	if err != nil {
		t.Fatal(err)
	}
	into := filepath.Join("..", "..", "..", "cmd", "molar", "careless.go")
	if into, err = filepath.Abs(into); err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {into: file}})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "overlay.json")
	if err := os.WriteFile(path, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{"-overlay", path}
}
