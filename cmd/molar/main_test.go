package main

import (
	"flag"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"molar/internal/testkit"
)

// TestMain runs the tests with a molar in PATH: the binary of the tests themselves, which
// is the program when it is called so. Most of the time of these tests is spent waiting
// for processes and timers, so more of them run side by side than there are processors.
func TestMain(m *testing.M) {
	const sideBySide = 6
	if runtime.GOMAXPROCS(0) < sideBySide {
		_ = flag.Set("test.parallel", strconv.Itoa(sideBySide)) // a flag of the command line comes later, and wins
	}
	testscript.Main(m, map[string]func(){"molar": main, "vault": vault})
}

// molarProgram returns a molar without the race detector: the binary of the tests, unless
// that has it.
func molarProgram(t *testing.T) string {
	t.Helper()
	if raced {
		return testkit.Build(t, "molar/cmd/molar")
	}
	path, err := exec.LookPath("molar")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// long leaves a test out of short runs, and says why.
func long(t *testing.T, why string) {
	t.Helper()
	if testing.Short() {
		t.Skip("left out of short tests: " + why)
	}
}

// TestScripts runs the conversations in testdata/script, with a home folder of
// their own and no settings of the person who runs them. $FAMILY is the built MCP
// server of the family example, $BADMCP one that misbehaves, vault one that wants a token,
// and $FREE an address of this machine where nobody listens yet. The scripts start molar hundreds of times, so
// they run it without the race detector; the tests beside them run it in their process.
func TestScripts(t *testing.T) {
	t.Parallel()
	molar, family, badmcp := molarProgram(t), buildFamily(t), testkit.Build(t, "molar/internal/testkit/badmcp")
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", filepath.Dir(molar)+string(filepath.ListSeparator)+env.Getenv("PATH"))
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

// buildFamily returns the MCP server of the family example, built.
func buildFamily(t *testing.T) string {
	t.Helper()
	return testkit.Build(t, "molar/examples/family/server")
}
