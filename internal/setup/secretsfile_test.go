package setup_test

import (
	"os"
	"path/filepath"
	"testing"

	"molar/internal/config"
	"molar/internal/setup"
)

// What was added is taken back, and nothing else: another command may have added its own meanwhile.
func TestSecretsFile_TakeBack(t *testing.T) {
	for name, tc := range map[string]struct{ before, after, want string }{
		"a new file":          {"", "", ""},
		"a file with values":  {"A=1\n", "", "A=1\n"},
		"without a line end":  {"A=1", "", "A=1"},
		"one that grew since": {"A=1\n", "C=3\n", "A=1\nC=3\n"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "molar.env")
			if tc.before != "" {
				put(t, file, tc.before)
			}
			s, err := setup.OpenSecretsFile(file, func(string) (string, bool) { return "", false })
			if err != nil {
				t.Fatal(err)
			}
			if err := s.TakeBack(); err != nil { // there is nothing yet
				t.Error(err)
			}
			if _, _, err := s.Add([]config.Variable{{Name: "B", Value: "secret", Use: "key"}}); err != nil {
				t.Fatal(err)
			}
			with, _ := os.ReadFile(file)
			put(t, file, string(with)+tc.after)
			if err := s.TakeBack(); err != nil {
				t.Error(err)
			}
			text, err := os.ReadFile(file)
			if string(text) != tc.want || os.IsNotExist(err) != (tc.want == "") {
				t.Errorf("%q, %v, want %q", text, err, tc.want)
			}
		})
	}
}

func put(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
