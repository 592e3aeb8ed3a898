package setup_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"molar/internal/setup"
)

// A new text takes the place of the old one: the link to the file and its mode stay, and nothing else
// is left in the folder.
func TestConfigFile(t *testing.T) {
	dir := t.TempDir()
	real, link := filepath.Join(dir, "real", "molar.yaml"), filepath.Join(dir, "link.yaml")
	if err := os.Mkdir(filepath.Dir(real), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(real, []byte("old"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join("real", "molar.yaml"), link); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	f := openConfig(t, link)
	if string(f.Text) != "old" || f.New {
		t.Fatalf("text %q, new %v", f.Text, f.New)
	}
	if err := f.Replace([]byte("new")); err != nil {
		t.Fatal(err)
	}
	text, _ := os.ReadFile(real)
	info, err := os.Stat(real)
	if err != nil || string(text) != "new" || info.Mode().Perm() != 0o640 {
		t.Errorf("%q of mode %s, %v", text, info.Mode(), err)
	}
	if to, err := os.Readlink(link); err != nil || to != filepath.Join("real", "molar.yaml") {
		t.Errorf("the link leads to %q, %v", to, err)
	}
	if left, _ := os.ReadDir(filepath.Dir(real)); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}

func openConfig(t *testing.T, path string) *setup.ConfigFile {
	t.Helper()
	f, err := setup.OpenConfigFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// A file that does not exist is made with its folder, for its owner alone.
func TestConfigFile_New(t *testing.T) {
	path := filepath.Join(t.TempDir(), "molar", "molar.yaml")
	f := openConfig(t, path)
	if !f.New || f.Text == nil {
		t.Fatalf("%+v", f)
	}
	if err := f.Replace([]byte("new")); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}

// A file that is read-only, or that somebody else changed meanwhile, is not touched.
func TestConfigFile_Refused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "molar.yaml")
	missing := openConfig(t, path)
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := openConfig(t, path)
	if err := os.WriteFile(path, []byte("theirs"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, f := range []*setup.ConfigFile{missing, f} {
		if err := f.Replace([]byte("mine")); err == nil || !strings.Contains(err.Error(), "changed meanwhile") {
			t.Errorf("error %v", err)
		}
	}
	if err := os.Chmod(path, 0o400); err != nil {
		t.Fatal(err)
	}
	if _, err := setup.OpenConfigFile(path); err == nil || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("error %v", err)
	}
	if text, _ := os.ReadFile(path); string(text) != "theirs" {
		t.Errorf("the file holds %q", text)
	}
	if err := os.Symlink(filepath.Join(t.TempDir(), "gone"), path+".link"); err == nil {
		if _, err := setup.OpenConfigFile(path + ".link"); err == nil {
			t.Error("a link to nothing is opened")
		}
	}
}
