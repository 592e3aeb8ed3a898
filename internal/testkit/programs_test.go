package testkit_test

import (
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"molar/internal/testkit"
)

// Concurrent callers get the same program, and later ones find it unchanged.
func TestBuild(t *testing.T) {
	const pkg = "molar/internal/testkit/effects"
	var all sync.WaitGroup
	paths := make([]string, 3)
	for i := range paths {
		all.Go(func() { paths[i] = testkit.Build(t, pkg) })
	}
	all.Wait()
	first, err := os.Stat(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range append(paths, testkit.Build(t, pkg)) {
		later, err := os.Stat(path)
		if err != nil || !os.SameFile(first, later) {
			t.Errorf("%s is not %s any more: %v", path, paths[0], err)
		}
	}
	if other := testkit.Build(t, pkg, "-tags", "other"); other == paths[0] {
		t.Error("another way to build gave the same file")
	}
}

func TestPath_TellsWhatIsWrong(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("there is no go")
	}
	if path, err := testkit.Path("molar/no/such"); err == nil || !strings.Contains(err.Error(), "molar/no/such") {
		t.Errorf("%q, %v", path, err)
	}
}
