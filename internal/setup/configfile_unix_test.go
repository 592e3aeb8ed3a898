//go:build unix

package setup_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"molar/internal/setup"
)

// A pipe or a device stays what it is, and nobody waits for what is in it.
func TestConfigFile_NoFile(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe.yaml")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip("no pipes: ", err)
	}
	for _, path := range []string{pipe, "/dev/null", t.TempDir()} {
		if _, err := setup.OpenConfigFile(path); err == nil || !strings.Contains(err.Error(), "is not a file that can be changed") {
			t.Errorf("%s: %v", path, err)
		}
	}
}
