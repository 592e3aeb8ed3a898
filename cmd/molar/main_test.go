package main

import (
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain runs the tests with a molar in PATH: the binary of the tests themselves, which
// is the program when it is called so. Most of the time of these tests is spent waiting
// for processes and timers, so more of them run side by side than there are processors.
func TestMain(m *testing.M) {
	const sideBySide = 6
	if runtime.GOMAXPROCS(0) < sideBySide {
		_ = flag.Set("test.parallel", strconv.Itoa(sideBySide)) // a flag of the command line comes later, and wins
	}
	testscript.Main(cleaning{m}, map[string]func(){"molar": main})
}

// cleaning removes the built programs behind the tests.
type cleaning struct{ *testing.M }

func (c cleaning) Run() int {
	defer built.remove()
	return c.M.Run()
}

// built are the programs that tests run, each built once.
var built programs

type programs struct {
	mu    sync.Mutex
	dir   string
	paths map[string]string // by package
}

// path returns the program of a package of this module, and builds it at the first call.
func (p *programs) path(pkg string) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if path, ok := p.paths[pkg]; ok {
		return path, nil
	}
	if p.dir == "" {
		dir, err := os.MkdirTemp("", "molar-programs-")
		if err != nil {
			return "", err
		}
		p.dir, p.paths = dir, map[string]string{}
	}
	path := filepath.Join(p.dir, strconv.Itoa(len(p.paths)), filepath.Base(pkg))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	if out, err := exec.Command("go", "build", "-o", path, pkg).CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", pkg, err, out)
	}
	p.paths[pkg] = path
	return path, nil
}

func (p *programs) remove() { _ = os.RemoveAll(p.dir) }

// buildProgram returns a program of this module, built.
func buildProgram(t *testing.T, pkg string) string {
	t.Helper()
	path, err := built.path(pkg)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// molarProgram returns a molar without the race detector: the binary of the tests, unless
// that has it.
func molarProgram(t *testing.T) string {
	t.Helper()
	if raced {
		return buildProgram(t, "molar/cmd/molar")
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
// server of the family example, $BADMCP one that misbehaves, and $FREE an address of
// this machine where nobody listens yet. The scripts start molar hundreds of times, so
// they run it without the race detector; the tests beside them run it in their process.
func TestScripts(t *testing.T) {
	t.Parallel()
	molar, family, badmcp := molarProgram(t), buildFamily(t), buildProgram(t, "molar/internal/testkit/badmcp")
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
	return buildProgram(t, "molar/examples/family/server")
}
