package main

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/lockedfile"
)

// block matches the shell blocks of a page. The word after "sh" decides how a block is run: none,
// until it ends; "serve", until the test stops it; "by-hand", not at all, because it needs a
// person, a container engine, a key or another machine.
var block = regexp.MustCompile("(?ms)^```sh ?(.*?)\n(.*?)^```")

// Every command of the docs runs as it stands there, in a checkout, with nothing but the
// address of the running host replaced.
func TestDocs_Commands(t *testing.T) {
	t.Parallel()
	long(t, "it runs the commands of all pages")
	checkout := newCheckout(t)
	serve, mcp := startFor(t, "serve"), startFor(t, "mcp")
	addresses := strings.NewReplacer("127.0.0.1:8000", serve, "127.0.0.1:8001", mcp, "localhost:8001", mcp)
	pages, err := filepath.Glob(filepath.Join(checkout, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	howTo, err := filepath.Glob(filepath.Join(checkout, "docs", "how-to", "*.md"))
	if err != nil || len(howTo) == 0 {
		t.Fatalf("%d pages of how to do things, %v", len(howTo), err)
	}
	for _, page := range append(slices.Concat(pages, howTo), filepath.Join(checkout, "README.md"), filepath.Join(checkout, "CONTRIBUTING.md")) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range block.FindAllStringSubmatch(string(text), -1) {
			how, script := m[1], addresses.Replace(m[2])
			t.Run(filepath.Base(page)+"/"+firstLine(script), func(t *testing.T) { runBlock(t, checkout, how, script) })
		}
	}
}

func runBlock(t *testing.T, checkout, how, script string) {
	const longest, serving = 5 * time.Minute, 2 * time.Second
	limit := longest
	switch how {
	case "by-hand":
		return
	case "serve":
		limit = serving
	case "":
	default:
		t.Fatalf("a block of sh is run to its end, \"serve\" or \"by-hand\", and not %q", how)
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", script)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // what the shell started ends with it
	// A shell whose command was interrupted continues with the next one; a shell that gets SIGTERM
	// ends.
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	cmd.Dir = checkout
	cmd.Env = offlineEnv(filepath.Dir(checkout))
	out, err := cmd.CombinedOutput()
	if how == "serve" && ctx.Err() != nil {
		return
	}
	if err != nil || ctx.Err() != nil {
		t.Errorf("%v\n%s\n%s", errors.Join(err, ctx.Err()), script, bytes.TrimSpace(out))
	}
}

// startFor starts a host or a memory server for one test, and returns its address.
func startFor(t *testing.T, command string) string {
	t.Helper()
	address := freePort(t)
	cmd := exec.CommandContext(t.Context(), "molar", command, "--listen", address)
	cmd.Env = offlineEnv(t.TempDir())
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	})
	eventually(t, command+" listens", func() bool {
		conn, err := net.DialTimeout("tcp", address, time.Second)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
	return address
}

// offlineEnv returns an environment with a separate home folder and no reachable model.
func offlineEnv(home string) []string {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "GEMINI_") || strings.HasPrefix(v, "GOOGLE_") || strings.HasPrefix(v, "OPENAI_") || strings.HasPrefix(v, "XDG_")
	})
	return append(env, "HOME="+home, "GOCACHE="+goEnv("GOCACHE"), "GOMODCACHE="+goEnv("GOMODCACHE"), "OLLAMA_BASE_URL=http://127.0.0.1:9",
		"MOLAR_LISTEN=127.0.0.1:0", "MOLAR_MCP_LISTEN=127.0.0.1:0")
}

// freePort returns a local address that is not in use.
func freePort(t *testing.T) string {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer free.Close()
	return free.Addr().String()
}

func goEnv(name string) string {
	out, err := exec.Command("go", "env", name).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// newCheckout copies the module without the files of git and of the build. The folder is the same
// each time, so that the go command finds its earlier builds.
func newCheckout(t *testing.T) (dir string) {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(root, ".cache", "docs")
	if err := os.MkdirAll(filepath.Dir(home), 0o750); err != nil {
		t.Fatal(err)
	}
	unlock, err := lockedfile.MutexAt(filepath.Join(filepath.Dir(home), "docs.lock")).Lock()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = os.RemoveAll(home)
		unlock()
	})
	if err := os.RemoveAll(home); err != nil { // of a run that was killed
		t.Fatal(err)
	}
	dir = filepath.Join(home, "molar")
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		switch {
		case d.IsDir() && slices.Contains([]string{".git", ".cache", "bin", "dist", "node_modules"}, d.Name()):
			return filepath.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(dir, rel), 0o750)
		case !d.Type().IsRegular():
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, rel), data, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
	git := exec.CommandContext(t.Context(), "git", "init", "-q")
	git.Dir = dir
	if out, err := git.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return dir
}

func firstLine(script string) string {
	line, _, _ := strings.Cut(script, "\n")
	return line[:min(len(line), 60)]
}
