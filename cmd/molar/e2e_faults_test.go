package main

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"molar/internal/cli"
)

// What serve cannot start with is one sentence that names it, and no trace of calls.
func TestFault_Start(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	noise := bytes.Repeat([]byte("this is no database. "), 1000)
	tests := []struct {
		name    string
		prepare func(t *testing.T, dir string)
		args    []string
		code    int
		stderr  []string // in the one sentence
	}{
		{
			"a corrupt database", func(t *testing.T, dir string) { put(t, filepath.Join(dir, "molar.db"), noise) },
			nil, cli.Failure,
			[]string{"molar.db", "move it away"},
		},
		{"an unwritable folder", func(t *testing.T, dir string) {
			if os.Geteuid() == 0 { // who may write anywhere; what follows is the same fault by another way
				put(t, filepath.Join(dir, "sub"), noise)
			} else if err := os.Mkdir(filepath.Join(dir, "sub"), 0o500); err != nil {
				t.Fatal(err)
			}
		}, []string{"--config", "sub.yaml"}, cli.Failure, []string{"sub"}},
		{
			"a port in use", func(*testing.T, string) {},
			[]string{"--listen", busy.Addr().String()},
			cli.Failure,
			[]string{busy.Addr().String(), "--listen"},
		},
		{
			"an address that others can reach", func(*testing.T, string) {},
			[]string{"--listen", "0.0.0.0:8000"},
			cli.Misuse,
			[]string{"0.0.0.0:8000", "loopback"},
		},
		{
			"a config that is not there", func(*testing.T, string) {},
			[]string{"--config", "gone.yaml"},
			cli.Misuse,
			[]string{"gone.yaml"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			put(t, filepath.Join(dir, "molar.yaml"), []byte("memory: {store: ./molar.db}\n"))
			put(t, filepath.Join(dir, "sub.yaml"), []byte("memory: {store: ./sub/molar.db}\n"))
			tt.prepare(t, dir)
			t.Chdir(dir)
			args := append([]string{"serve", "--config", "molar.yaml", "--listen", "127.0.0.1:0"}, tt.args...)
			var stdout, stderr bytes.Buffer
			code := execute(t.Context(), args, lookup(homeEnv(t, nil)), strings.NewReader(""), &stdout, &stderr)
			sentence := oneSentence(stderr.String())
			if code != tt.code || stdout.Len() > 0 || sentence == "" {
				t.Fatalf("code %d, stdout %q, stderr:\n%s", code, stdout.String(), stderr.String())
			}
			for _, want := range tt.stderr {
				if !strings.Contains(sentence, want) {
					t.Errorf("%q is missing in %q", want, sentence)
				}
			}
		})
	}
}

// oneSentence returns the only line of molar's output that is not a log line; empty if there are
// none or several.
func oneSentence(stderr string) string {
	found := ""
	for line := range strings.Lines(stderr) {
		switch {
		case strings.HasPrefix(line, "time="):
		case strings.HasPrefix(line, "molar: ") && found == "":
			found = line
		default:
			return ""
		}
	}
	return found
}

func put(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
