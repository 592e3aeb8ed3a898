package testkit

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/lockedfile"
)

// Build returns the path of a program of this module, built with the flags of go build.
func Build(tb testing.TB, pkg string, flags ...string) string {
	tb.Helper()
	path, err := Path(pkg, flags...)
	if err != nil {
		tb.Fatal(err)
	}
	return path
}

// requested holds the programs that this process has requested, by the way to build them.
var requested sync.Map

// Path is [Build] for callers without a test. A process runs go build once per program, and go
// build skips programs that are up to date. The programs stay in .cache of the module.
func Path(pkg string, flags ...string) (string, error) {
	way := strings.Join(append(slices.Clone(flags), pkg), "\x00")
	path, _ := requested.LoadOrStore(way, sync.OnceValues(func() (string, error) { return build(way, pkg, flags) }))
	return path.(func() (string, error))()
}

func build(way, pkg string, flags []string) (string, error) {
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	// Each way to build has its own folder, so that two do not overwrite each other.
	name := sha256.Sum256([]byte(way))
	dir := filepath.Join(root, ".cache", "programs", fmt.Sprintf("%x", name[:6]))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	// The tests of several packages run at the same time.
	unlock, err := lockedfile.MutexAt(filepath.Join(dir, "lock")).Lock()
	if err != nil {
		return "", err
	}
	defer unlock()
	path := filepath.Join(dir, filepath.Base(pkg))
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	args := append(append([]string{"build", "-ldflags=-s -w", "-o", path}, flags...), pkg)
	cmd := exec.Command("go", args...) //nolint:noctx // the arguments are the tests' own, and other callers wait for the result too
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", pkg, err, out)
	}
	return path, nil
}

// moduleRoot returns the nearest folder above the test's with a go.mod.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("there is no go.mod above the test's folder")
		}
		dir = parent
	}
}
