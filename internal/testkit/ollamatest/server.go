// Package ollamatest runs a real Ollama server for tests, with models of its own
// making whose replies a test chooses word for word.
//
// It owns the server's process, its home and its model files; nothing is
// downloaded. It must not be linked into the program, and it knows nothing of the
// provider that it serves.
package ollamatest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ollama/ollama/api"
)

// Version is the version of the server that the tests are made for.
const Version = "0.17.4"

const (
	startTime = 10 * time.Second
	stopTime  = 5 * time.Second
	logTail   = 2 << 10
)

// A Server is a running server. Its methods are for the goroutine of the test.
type Server struct {
	// URL is the server's address, on loopback.
	URL string

	dir    string
	cmd    *exec.Cmd
	ended  chan struct{} // closed when the process has ended
	http   *http.Transport
	client *api.Client
	files  map[string]string // digests of the models that were uploaded
	stop   sync.Once
}

// Start runs a server on a free loopback port, with a home and a model store of
// its own, and ends it with the test. Settings are NAME=VALUE and come last in its
// environment.
//
// The test is skipped when no server is built, or fails when CI is "true". The
// binary is named by MOLAR_OLLAMA, else it is what .ci/ollama builds.
func Start(t testing.TB, settings ...string) *Server {
	t.Helper()
	bin := find(t)
	s, err := newServer(t.Context(), bin, t.TempDir(), settings)
	if err != nil {
		t.Fatalf("start %s: %v", bin, err)
	}
	t.Cleanup(func() {
		s.Stop()
		if t.Failed() {
			t.Logf("the end of the server's log:\n%s", s.log())
		}
	})
	if err := s.wait(t.Context()); err != nil {
		t.Fatalf("start %s: %v", bin, err)
	}
	return s
}

// find returns the path of the server, or ends the test.
func find(t testing.TB) string {
	t.Helper()
	bin := os.Getenv("MOLAR_OLLAMA")
	if bin == "" {
		bin = filepath.Join(root(t), ".cache", "ollama", "ollama")
	}
	if _, err := os.Stat(bin); err == nil {
		return bin
	}
	reason := "no Ollama server at " + bin + ": run .ci/ollama, which builds it in 3 to 5 minutes, or name one in MOLAR_OLLAMA"
	if os.Getenv("CI") == "true" {
		t.Fatal(reason)
	}
	t.Skip(reason)
	return ""
}

// root is the folder of the module that the test belongs to.
func root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("the test runs outside of a module")
		}
		dir = filepath.Dir(dir)
	}
}

func newServer(ctx context.Context, bin, dir string, settings []string) (*Server, error) {
	addr, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(dir, "server.log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	transport := &http.Transport{}
	s := &Server{
		URL: "http://" + addr, dir: dir, ended: make(chan struct{}), files: map[string]string{}, http: transport,
		client: api.NewClient(&url.URL{Scheme: "http", Host: addr}, &http.Client{Transport: transport}),
	}
	s.cmd = exec.Command(bin, "serve") //nolint:noctx // Stop ends it, with its runners
	s.cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"),
		"HOME=" + dir, // the server makes a key pair there
		"OLLAMA_HOST=" + addr,
		"OLLAMA_MODELS=" + filepath.Join(dir, "models"),
		"OLLAMA_NO_CLOUD=1",
	}, settings...)
	s.cmd.Stdout, s.cmd.Stderr = log, log
	// A group of its own, so that its runners, which outlive a killed server, end
	// with it.
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(s.ended)
		_ = s.cmd.Wait()
	}()
	return s, nil
}

func freeAddress(ctx context.Context) (string, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// wait returns when the server answers, which takes it 40 to 110 ms.
func (s *Server) wait(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	for tick := time.Tick(10 * time.Millisecond); ; {
		_, err := s.client.Version(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-s.ended:
			return errors.New("it ended at once")
		case <-ctx.Done():
			return fmt.Errorf("no answer in %v: %w", startTime, err)
		case <-tick:
		}
	}
}

// Stop ends the server and its runners. It may be called more than once.
func (s *Server) Stop() {
	s.stop.Do(func() {
		s.http.CloseIdleConnections()
		_ = s.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-s.ended:
		case <-time.After(stopTime):
			s.Kill()
		}
		_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL)
	})
}

// Kill ends the server alone, at once, and leaves its runners behind.
func (s *Server) Kill() {
	_ = s.cmd.Process.Kill()
	<-s.ended
}

// KillRunners ends the processes that run models and returns how many there were.
// The server stays.
func (s *Server) KillRunners(t testing.TB) int {
	t.Helper()
	pid := strconv.Itoa(s.cmd.Process.Pid)
	tasks, err := filepath.Glob("/proc/" + pid + "/task/*/children")
	if err != nil || len(tasks) == 0 {
		t.Fatalf("the children of process %s cannot be listed: %v", pid, err)
	}
	killed := 0
	for _, task := range tasks {
		children, _ := os.ReadFile(task) // a thread may have ended
		for child := range strings.FieldsSeq(string(children)) {
			if n, err := strconv.Atoi(child); err == nil && syscall.Kill(n, syscall.SIGKILL) == nil {
				killed++
			}
		}
	}
	return killed
}

// Ended returns how many requests to a path the server has ended, well or not.
func (s *Server) Ended(t testing.TB, path string) int {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(s.dir, "server.log"))
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "[GIN]") && strings.Contains(line, `"`+path+`"`) {
			count++
		}
	}
	return count
}

// log returns the end of what the server wrote.
func (s *Server) log() []byte {
	data, _ := os.ReadFile(filepath.Join(s.dir, "server.log"))
	return data[max(0, len(data)-logTail):]
}
