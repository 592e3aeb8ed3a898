package crash

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A Disk is an ext4 file system in a file, which can lose its power: what was written
// to it but had not reached it is gone then.
type Disk struct {
	// Folder is where the file system is mounted.
	Folder string
	image  string
}

// NewDisk makes a disk that lives as long as the test, which is skipped where none can
// be made: that needs root, mkfs.ext4 and a loop device.
func NewDisk(tb testing.TB) *Disk {
	tb.Helper()
	if os.Getuid() != 0 {
		tb.Skip("a file system to be cut off needs root")
	}
	d := &Disk{Folder: tb.TempDir(), image: filepath.Join(tb.TempDir(), "image")}
	f, err := os.Create(d.image)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	const size = 64 << 20
	if err := f.Truncate(size); err != nil {
		tb.Fatal(err)
	}
	if out, err := exec.CommandContext(tb.Context(), "mkfs.ext4", "-q", d.image).CombinedOutput(); err != nil {
		tb.Skipf("no ext4 file system can be made here: %v: %s", err, out)
	}
	if err := d.mount(); err != nil {
		tb.Skipf("no file system can be mounted from a file here: %v", err)
	}
	tb.Cleanup(func() {
		if err := unix.Unmount(d.Folder, unix.MNT_DETACH); err != nil {
			tb.Error(err)
		}
	})
	return d
}

func (d *Disk) mount() error {
	out, err := exec.CommandContext(context.Background(), "mount", "-o", "loop", d.image, d.Folder).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}

// CutPower stops the file system without writing anything more, not even its log.
func (d *Disk) CutPower() error {
	const (
		shutdown  = 0x8004587d // EXT4_IOC_SHUTDOWN of the kernel's ext4.h
		noLogSync = 2          // EXT4_GOING_FLAGS_NOLOGFLUSH
	)
	f, err := os.Open(d.Folder)
	if err != nil {
		return err
	}
	defer f.Close()
	return unix.IoctlSetPointerInt(int(f.Fd()), shutdown, noLogSync)
}

// ComeBack gives the disk its power back. Nobody may have a file of it open.
func (d *Disk) ComeBack() error {
	if err := unix.Unmount(d.Folder, 0); err != nil {
		return err
	}
	return d.mount()
}
