package main

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"molar": main})
}

// TestScripts runs the conversations in testdata/script, with a home folder of
// their own and no settings of the person who runs them. $FAMILY is the built MCP
// server of the family example, $BADMCP one that misbehaves, and $FREE an address of
// this machine where nobody listens yet.
func TestScripts(t *testing.T) {
	family, badmcp := buildFamily(t), buildProgram(t, "badmcp", "molar/internal/testkit/badmcp")
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("FAMILY", family)
			env.Setenv("BADMCP", badmcp)
			free, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return err
			}
			env.Setenv("FREE", free.Addr().String())
			if err := free.Close(); err != nil {
				return err
			}
			// Nobody listens there, whatever runs on this machine.
			env.Setenv("OLLAMA_BASE_URL", "http://127.0.0.1:9")
			env.Setenv("HOME", env.WorkDir+"/home")
			env.Setenv("USERPROFILE", env.WorkDir+"/home")
			return os.MkdirAll(env.WorkDir+"/home", 0o700)
		},
	})
}

// buildFamily builds the MCP server of the family example.
func buildFamily(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "family")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", path, "../../examples/family/server").CombinedOutput()
	if err != nil {
		t.Fatalf("build the family server: %v\n%s", err, out)
	}
	return path
}
