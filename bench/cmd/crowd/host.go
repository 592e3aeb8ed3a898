package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"molar/internal/testkit/models"
	"molar/internal/testkit/stubmcp"
)

// tools is how many tools a good server lists.
const tools = 20

// patience bounds the wait for the servers.
const patience = 3 * time.Minute

// A server is one that the host attaches, by a command or a URL.
type server struct {
	name, command, url string
	args               []string
}

// good returns servers that behave.
func (b *bench) good(n int) []server {
	all := make([]server, n)
	for i := range all {
		all[i] = server{
			name: fmt.Sprintf("vendor%02d", i), command: filepath.Join(b.bin, "stubmcp"),
			args: []string{fmt.Sprintf("-tools=%d", tools), fmt.Sprintf("-seed=%d", i+1)},
		}
	}
	return all
}

func (b *bench) bad(name string, flags ...string) server {
	return server{name: name, command: filepath.Join(b.bin, "badmcp"), args: flags}
}

// A host is a running host with its model.
type host struct {
	cmd   *exec.Cmd
	dir   string
	url   string
	model *models.Server
	ready time.Duration // until enough servers were ready
	log   sync.WaitGroup
}

// open starts a host and waits until as many of the servers are ready, as its log tells: asking it
// would cost it time.
func (b *bench) open(ctx context.Context, servers []server, ready int) (*host, error) {
	dir, err := os.MkdirTemp("", "crowd")
	if err != nil {
		return nil, err
	}
	h := &host{dir: dir, model: models.New(models.Config{Tool: stubmcp.ToolName, Args: json.RawMessage(`{"family_id":"1a955fff"}`), Keep: 1})}
	modelURL, err := h.model.Start(ctx, "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	address, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	h.url = "http://" + address
	config, err := json.Marshal(configOf(dir, address, modelURL, servers))
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "molar.yaml") // JSON is YAML
	if err := os.WriteFile(file, config, 0o600); err != nil {
		return nil, err
	}
	h.cmd = exec.CommandContext(ctx, b.molar, "serve", "--config", file) //nolint:gosec // the host that is measured
	h.cmd.Env = append(os.Environ(), "HOME="+dir)
	logged, err := h.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if err := h.cmd.Start(); err != nil {
		return nil, err
	}
	enough := make(chan struct{})
	h.log.Go(func() { h.follow(logged, ready, enough) })
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-enough:
		h.ready = time.Since(began)
		return h, nil
	case <-timer.C:
		err = fmt.Errorf("%d servers were not ready within %s", ready, patience)
	case <-ctx.Done():
		err = ctx.Err()
	}
	h.close()
	return nil, err
}

// follow reads the log to its end and tells when so many servers are ready.
func (h *host) follow(log io.Reader, ready int, enough chan<- struct{}) {
	lines := bufio.NewReader(log)
	seen := map[string]bool{}
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		if !strings.Contains(line, "MCP server is ready") {
			continue
		}
		_, name, _ := strings.Cut(line, "server=")
		name, _, _ = strings.Cut(name, " ")
		if !seen[name] && name != "memory-server" && name != "tool-server" {
			if seen[name] = true; len(seen) == ready {
				close(enough)
			}
		}
	}
}

func configOf(dir, address, modelURL string, servers []server) map[string]any {
	attached := map[string]any{}
	for _, s := range servers {
		one := map[string]any{"tools": map[string]any{"*": map[string]any{"policy": "allow"}}}
		if s.url != "" {
			one["url"] = s.url
		} else {
			one["command"], one["args"] = s.command, s.args
		}
		attached[s.name] = one
	}
	assistant := func(globs ...string) map[string]any {
		return map[string]any{"system_prompt": "Answer from the results of the tools.", "tools": globs}
	}
	return map[string]any{
		"listen": address, "default": "good",
		"llm":        map[string]any{"provider": "ollama", "ollama": map[string]any{"base_url": modelURL}},
		"assistants": map[string]any{"good": assistant("good__*"), "all": assistant("*")},
		"memory":     map[string]any{"store": filepath.Join(dir, "molar.db")},
		"mcpServers": attached,
		"telemetry":  map[string]any{"trace": "off"},
	}
}

func freeAddress(ctx context.Context) (string, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String(), nil
}

func (h *host) pid() int { return h.cmd.Process.Pid }

// close ends the host and its servers.
func (h *host) close() {
	_ = h.cmd.Process.Signal(syscall.SIGTERM)
	h.log.Wait()
	_ = h.cmd.Wait()
	_ = h.model.Close()
	_ = os.RemoveAll(h.dir)
}
