package transport_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"molar/mcpclients/transport"
)

// A server that is this program itself starts also where the program is not in PATH.
func TestLookPath(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	own := strings.TrimSuffix(filepath.Base(self), ".exe")
	if found, err := transport.LookPath(own); err != nil || found != self {
		t.Errorf("%s: %q, %v", own, found, err)
	}
	if found, err := transport.LookPath("no-such-program"); err == nil {
		t.Errorf("found %q", found)
	}
	want, err := exec.LookPath("go")
	if found, errFound := transport.LookPath("go"); found != want || (err == nil) != (errFound == nil) {
		t.Errorf("go: %q, %v; want %q, %v", found, errFound, want, err)
	}
}
