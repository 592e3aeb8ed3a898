package config_test

import (
	"context"
	"crypto/sha256"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"molar/internal/config"
)

// patience is the time limit of every wait.
const patience = 10 * time.Second

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// start watches a file until the test ends.
func start(t *testing.T, name string, known [sha256.Size]byte) <-chan struct{} {
	t.Helper()
	changed, done := make(chan struct{}, 100), make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { done <- config.WatchFile(ctx, name, known, func() { changed <- struct{}{} }) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("WatchFile: %v", err)
		}
	})
	return changed
}

func expect(t *testing.T, changed <-chan struct{}, what string) {
	t.Helper()
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-changed:
	case <-late.C:
		t.Fatalf("%s was not reported", what)
	}
}

// WatchFile reports a change for every way in which editors and tools save, and none for equal
// content.
func TestWatchFile(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "molar.yaml")
	put(t, name, "first")
	changed := start(t, name, sha256.Sum256([]byte("older")))
	expect(t, changed, "a change before the watch")

	put(t, name, "second")
	expect(t, changed, "a save in place")
	put(t, filepath.Join(dir, "molar.yaml.tmp"), "third")
	if err := os.Rename(filepath.Join(dir, "molar.yaml.tmp"), name); err != nil {
		t.Fatal(err)
	}
	expect(t, changed, "a new file in the place of the old one")

	put(t, filepath.Join(dir, "molar.db"), strings.Repeat("x", 1000))
	put(t, name, "third") // the same again
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	expect(t, changed, "the removal")
	put(t, name, "fourth")
	expect(t, changed, "the return")
	put(t, name, strings.Repeat("x", 5<<20))
	expect(t, changed, "a huge file")
	if len(changed) > 0 {
		t.Errorf("%d calls without a change", len(changed))
	}
}

// WatchFile follows a symbolic link: it reports a new target and a save of the target.
func TestWatchFile_Link(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "etc", "molar.yaml")
	link := func(to string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(dir, to), 0o700); err != nil {
			t.Fatal(err)
		}
		put(t, filepath.Join(dir, to, "molar.yaml"), "in "+to)
		next := filepath.Join(dir, "etc", "..next")
		if err := os.Symlink(filepath.Join(dir, to), next); err != nil {
			t.Skip("no symbolic links here: ", err)
		}
		if err := os.Rename(next, filepath.Join(dir, "etc", "..data")); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "etc"), 0o700); err != nil {
		t.Fatal(err)
	}
	link("one")
	if err := os.Symlink(filepath.Join("..data", "molar.yaml"), name); err != nil {
		t.Fatal(err)
	}
	changed := start(t, name, [sha256.Size]byte{})
	expect(t, changed, "the first content")
	link("two")
	expect(t, changed, "the link to another folder")
	put(t, filepath.Join(dir, "two", "molar.yaml"), "changed")
	expect(t, changed, "a save where the link points")
}

// WatchFile reports changes of a file whose folders are created, removed and created again later.
func TestWatchFile_FolderComesLater(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "config", "molar", "molar.yaml")
	changed := start(t, name, [sha256.Size]byte{})
	for _, text := range []string{"first", "second"} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		put(t, name, text)
		expect(t, changed, "the file in its new folder")
		put(t, name, text+" again")
		expect(t, changed, "a save there")
		if err := os.RemoveAll(filepath.Join(dir, "config")); err != nil {
			t.Fatal(err)
		}
		expect(t, changed, "the removal of the folder")
	}
}

func TestWatchFile_NoFolder(t *testing.T) {
	taken := filepath.Join(t.TempDir(), "taken")
	put(t, taken, "a file")
	err := config.WatchFile(t.Context(), filepath.Join(taken, "molar", "molar.yaml"), [sha256.Size]byte{}, func() {})
	if err == nil || !strings.Contains(err.Error(), "watch the folder of") {
		t.Errorf("error %v", err)
	}
}
