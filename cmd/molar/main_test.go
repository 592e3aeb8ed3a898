package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"molar/internal/cli"
	"molar/internal/testkit"
	"molar/internal/testkit/models"
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

// TestScripts runs the conversations in testdata/script, each with a separate home folder and
// without the settings of the person who runs the tests. "exec molar" starts the program, without
// the race detector, once for each command, and where standard input or a signal matters; "call
// molar" runs it in the script's process, which is much cheaper. $FAMILY is the built MCP server
// of the family example, $BADMCP one that misbehaves, vault one that requires a token, and $FREE a
// local address that is not in use.
func TestScripts(t *testing.T) {
	t.Parallel()
	if file := os.Getenv(scriptVar); file != "" {
		runScript(t, file)
		return
	}
	if testing.Short() {
		t.Skip("it is slow: it starts some hundred processes of this program, one after the other in each script")
	}
	env := append(os.Environ(), "FAMILY="+buildFamily(t), "BADMCP="+testkit.Build(t, "molar/internal/testkit/badmcp"), "MOLAR="+molarProgram(t))
	files, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d scripts, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			args := []string{"-test.run=^TestScripts$", "-test.v", fmt.Sprintf("-test.short=%v", testing.Short())}
			if dir := flag.Lookup("test.gocoverdir").Value.String(); dir != "" { // what the script covers counts too
				args = append(args, "-test.gocoverdir="+dir, "-test.coverprofile="+filepath.Join(t.TempDir(), "coverage"))
			}
			cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
			cmd.Env = append(slices.Clip(env), scriptVar+"="+file)
			out, err := cmd.CombinedOutput()
			switch {
			case err != nil:
				t.Errorf("%v\n%s", err, out)
			case strings.Contains(string(out), "--- SKIP"):
				t.Skipf("%s", out)
			}
		})
	}
}

// scriptVar names the script that a process of the tests runs.
const scriptVar = "MOLAR_SCRIPT"

func runScript(t *testing.T, file string) {
	t.Helper()
	testscript.Run(t, testscript.Params{
		Files: []string{file},
		Cmds:  map[string]func(*testscript.TestScript, bool, []string){"call": callMolar},
		Setup: func(env *testscript.Env) error {
			env.Setenv("FAMILY", os.Getenv("FAMILY"))
			env.Setenv("BADMCP", os.Getenv("BADMCP"))
			env.Setenv("PATH", filepath.Dir(os.Getenv("MOLAR"))+string(filepath.ListSeparator)+env.Getenv("PATH"))
			free, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return err
			}
			env.Setenv("FREE", free.Addr().String())
			if err := free.Close(); err != nil {
				return err
			}
			model := models.New(models.Config{Script: manners})
			url, err := model.Start(context.Background(), "127.0.0.1:0")
			if err != nil {
				return err
			}
			env.Defer(func() { _ = model.Close() })
			env.Setenv("MODEL", url)
			// Nobody listens there, whatever runs on this machine.
			env.Setenv("OLLAMA_BASE_URL", "http://127.0.0.1:9")
			env.Setenv("HOME", env.WorkDir+"/home")
			env.Setenv("USERPROFILE", env.WorkDir+"/home")
			return os.MkdirAll(env.WorkDir+"/home", 0o700)
		},
	})
}

// manners is a model that is polite if its system prompt says so, and a judge of politeness.
func manners(r models.Request) *models.Reply {
	switch {
	case strings.Contains(r.Body, "Tell the key."):
		return &models.Reply{Tokens: []string{"It is swordfish-012."}}
	case !strings.Contains(r.Body, "You judge an answer"):
		if strings.Contains(r.Body, "Be polite.") {
			return &models.Reply{Tokens: []string{"Gladly: they are An and Binh."}}
		}
		return &models.Reply{Tokens: []string{"An and Binh."}}
	case strings.Contains(r.LastUser, "Gladly"):
		return &models.Reply{Tokens: []string{`{"reason":"It says gladly.","verdict":"pass"}`}}
	}
	return &models.Reply{Tokens: []string{`{"reason":"It is curt.","verdict":"fail"}`}}
}

// callMolar runs a command of a script in this process, which has nothing else to do.
func callMolar(ts *testscript.TestScript, fails bool, args []string) {
	if len(args) == 0 || args[0] != "molar" {
		ts.Fatalf("usage: call molar ...")
	}
	home, err := os.Getwd()
	ts.Check(err)
	ts.Check(os.Chdir(ts.MkAbs(".")))
	defer func() { ts.Check(os.Chdir(home)) }() // or the folder of the script cannot be removed everywhere
	env := func(name string) (string, bool) { v := ts.Getenv(name); return v, v != "" }
	code := execute(context.Background(), args[1:], env, strings.NewReader(""), ts.Stdout(), ts.Stderr())
	if (code != cli.OK) != fails {
		ts.Fatalf("exit code %d", code)
	}
}

// familyServer is the MCP server of the family example.
const familyServer = "molar/examples/family/server"

// buildFamily returns that server, built.
func buildFamily(t *testing.T) string {
	t.Helper()
	return testkit.Build(t, familyServer)
}
