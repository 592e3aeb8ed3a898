package crash_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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

// careless returns the flag of go build with which no commit of the host waits for the disk: it
// builds one source file of the store with one word changed.
func careless(t *testing.T) []string {
	t.Helper()
	file, err := filepath.Abs(filepath.Join("..", "..", "store", "database", "sqlite.go"))
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const level = `FullSync = d.Durable, "FULL"`
	changed := strings.Replace(string(source), level, `FullSync = d.Durable, "OFF"`, 1)
	if changed == string(source) {
		t.Fatalf("%s does not hold %s: the level of a durable commit is set elsewhere by now", file, level)
	}
	with := filepath.Join(t.TempDir(), "sqlite.go")
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {file: with}})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "overlay.json")
	if err := errors.Join(os.WriteFile(with, []byte(changed), 0o600), os.WriteFile(path, overlay, 0o600)); err != nil {
		t.Fatal(err)
	}
	return []string{"-overlay", path}
}
