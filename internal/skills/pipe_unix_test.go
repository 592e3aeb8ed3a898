//go:build unix

package skills_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A pipe in place of a text holds up no turn.
func TestLibrary_opensNoPipe(t *testing.T) {
	dir := write(t, map[string]string{"a/SKILL.md": md("a", "A.", ""), "b/more.md": "x"})
	for _, name := range []string{"a/pipe.md", "b/SKILL.md"} {
		if err := syscall.Mkfifo(filepath.Join(dir, name), 0o600); err != nil {
			t.Skip("no pipes: ", err)
		}
	}
	l := open(t, dir)
	if left := l.LeftOut(); len(left) != 1 || !strings.Contains(left[0], "it is not a file") {
		t.Errorf("left out: %q", left)
	}
	if _, err := l.Read("a", "pipe.md"); err == nil || !strings.Contains(err.Error(), "it is not a file") {
		t.Error(err)
	}
}
