package crash

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A Disk is an ext4 file system in a file that can lose its power: data that was written but not
// yet synced is then lost.
type Disk struct {
	// Folder is where the file system is mounted.
	Folder string
	image  string
}

// NewDisk returns a disk for the duration of the test. It skips the test if it cannot make one,
// for which it needs root, mkfs.ext4 and a loop device.
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

// CutPower stops the file system without writing anything more, not even its journal.
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

// ComeBack restores the power of the disk. No file on it may be open.
func (d *Disk) ComeBack() error {
	if err := unix.Unmount(d.Folder, 0); err != nil {
		return err
	}
	return d.mount()
}

// A SmallDisk is a small file system in memory.
type SmallDisk struct{ Folder string }

// NewSmallDisk returns a disk for the duration of the test. It skips the test if it cannot make
// one, for which it needs root.
func NewSmallDisk(tb testing.TB, size int) *SmallDisk {
	tb.Helper()
	d := &SmallDisk{Folder: tb.TempDir()}
	if err := unix.Mount("tmpfs", d.Folder, "tmpfs", 0, fmt.Sprintf("size=%d", size)); err != nil {
		tb.Skipf("a small file system cannot be mounted here: %v", err)
	}
	tb.Cleanup(func() {
		if err := unix.Unmount(d.Folder, unix.MNT_DETACH); err != nil {
			tb.Error(err)
		}
	})
	return d
}

// Fill leaves no free space on the disk for the given time.
func (d *SmallDisk) Fill(long time.Duration) error {
	path := filepath.Join(d.Folder, "filling")
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	for page := make([]byte, 4096); err == nil; {
		_, err = f.Write(page)
	}
	if errors.Is(err, unix.ENOSPC) {
		err = nil
	}
	time.Sleep(long)
	return errors.Join(err, f.Close(), os.Remove(path))
}

// LockFile keeps every other process from writing to a SQLite database for the given time.
func LockFile(path string, long time.Duration) error {
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return err
	}
	defer db.Close()
	ctx := context.Background()
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, "PRAGMA busy_timeout = 20000; BEGIN IMMEDIATE"); err != nil {
		return err
	}
	time.Sleep(long)
	_, err = conn.ExecContext(ctx, "ROLLBACK")
	return err
}
