package store_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"molar/internal/testkit/crash"
)

// A loss of power takes what was written but had not reached the disk. A small file
// system of our own is stopped as if that happened: unlike a killed process, it shows
// whether a commit waits for the disk.
func TestPowerCut(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("a file system to be cut off needs root")
	}
	for name, c := range map[string]struct {
		env   []string
		lossy bool
	}{
		"commits wait for the disk":      {nil, false},
		"commits do not (synchronous=0)": {[]string{carelessVariable + "=1"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			disk := newDisk(t)
			report, err := crash.Run(t.Context(), crash.Config{
				Command: childCommand(t, filepath.Join(disk.folder, "memory.db"), c.env...),
				Cycles:  4, Writers: 4, Seed: 7,
				Kill: func(child *exec.Cmd) error {
					// First the child, so that it sees no error of the disk.
					if err := child.Process.Kill(); err != nil {
						return err
					}
					return disk.cutPower()
				},
				Between: disk.comeBack,
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

// disk is an ext4 file system in a file.
type disk struct{ image, folder string }

func newDisk(t *testing.T) *disk {
	t.Helper()
	d := &disk{image: filepath.Join(t.TempDir(), "image"), folder: t.TempDir()}
	f, err := os.Create(d.image)
	if err != nil {
		t.Fatal(err)
	}
	const size = 64 << 20
	if err := f.Truncate(size); err != nil {
		t.Fatal(err)
	}
	f.Close()
	if out, err := exec.CommandContext(t.Context(), "mkfs.ext4", "-q", d.image).CombinedOutput(); err != nil {
		t.Skipf("no ext4 file system can be made here: %v: %s", err, out)
	}
	if err := d.mount(); err != nil {
		t.Skipf("no file system can be mounted from a file here: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(d.folder, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return d
}

func (d *disk) mount() error {
	out, err := exec.Command("mount", "-o", "loop", d.image, d.folder).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}

// cutPower stops the file system without writing anything more, not even its log.
func (d *disk) cutPower() error {
	const (
		shutdown  = 0x8004587d // EXT4_IOC_SHUTDOWN of the kernel's ext4.h
		noLogSync = 2          // EXT4_GOING_FLAGS_NOLOGFLUSH
	)
	f, err := os.Open(d.folder)
	if err != nil {
		return err
	}
	defer f.Close()
	return unix.IoctlSetPointerInt(int(f.Fd()), shutdown, noLogSync)
}

func (d *disk) comeBack() error {
	if err := unix.Unmount(d.folder, 0); err != nil {
		return err
	}
	return d.mount()
}
