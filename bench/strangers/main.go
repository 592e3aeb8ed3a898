// Command strangers attaches MCP servers of many vendors to a running Molar, one after the other, as a
// person would: by the config alone. It installs each from npm into a folder of its own, which it deletes
// afterwards, without running scripts of packages. It lists the tools, makes one call, kills the
// server's process, waits until it is attached again and repeats the call. It prints a table in Markdown.
//
// The keys are well-formed and not valid, so most calls end with the vendor's own error. What counts is
// that it is the server that answers.
package main

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

//go:embed servers.json
var table []byte

const (
	// startWithin is how long a server may take to be attached, or attached again, in all.
	startWithin = 2 * time.Minute
	// callWithin is longer than the limit of a call in Molar.
	callWithin = 90 * time.Second
	// maxCell bounds a text in the table, in characters.
	maxCell = 160
)

// A stranger is a line of servers.json.
type stranger struct {
	Package string            `json:"package"`
	Version string            `json:"version"`
	Bin     string            `json:"bin"` // which command of the package, if it has several
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env"`
	// Tool is called with Arguments; without one, the first tool that needs no argument and reads.
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
}

// A row is what became of a stranger.
type row struct {
	stranger
	tools, out     int
	tool           string
	first, second  string
	started, again time.Duration
	fault          string
}

func main() {
	molar := flag.String("molar", "", "path of the built `program`")
	only := flag.String("only", "", "attach only the packages whose names contain this `text`")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Stdout, *molar, *only)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "strangers:", err)
		os.Exit(1)
	}
}

// run prints the table, and fails if fewer than half of the servers worked: those that did not say why.
func run(ctx context.Context, out io.Writer, molar, only string) error {
	if molar == "" {
		return errors.New("which molar? name it with -molar")
	}
	program, err := filepath.Abs(molar)
	if err != nil {
		return err
	}
	var all []stranger
	if err := json.Unmarshal(table, &all); err != nil {
		return fmt.Errorf("servers.json: %w", err)
	}
	_, _ = fmt.Fprintln(out, "| package | version | tools | first start | call | back after | the same call again |\n|---|---|---|---|---|---|---|")
	worked, tried := 0, 0
	for _, s := range all {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !strings.Contains(s.Package, only) {
			continue
		}
		r := try(ctx, program, s)
		tried++
		if r.fault == "" {
			worked++
		}
		_, _ = fmt.Fprintln(out, r)
	}
	_, _ = fmt.Fprintf(out, "\n%d of %d were attached, called, killed and found again.\n", worked, tried)
	if worked*2 < tried {
		return fmt.Errorf("only %d of %d worked", worked, tried)
	}
	return nil
}

func (r row) String() string {
	if r.fault != "" {
		return fmt.Sprintf("| %s | %s | – | – | **%s** | – | – |", r.Package, r.Version, cell(r.fault, 2*maxCell))
	}
	tools := strconv.Itoa(r.tools)
	if r.out > 0 {
		tools += fmt.Sprintf(" (%d left out)", r.out)
	}
	return fmt.Sprintf("| %s | %s | %s | %.1f s | `%s`: %s | %.1f s | %s |", r.Package, r.Version, tools, r.started.Seconds(),
		r.tool, cell(r.first, maxCell), r.again.Seconds(), cell(r.second, maxCell/2))
}

// cell makes a text fit into a table.
func cell(s string, most int) string {
	runes := []rune(strings.Join(strings.Fields(strings.ReplaceAll(s, "|", "\\|")), " "))
	if len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return string(runes)
}

// try does all with one server.
func try(ctx context.Context, molar string, s stranger) row {
	r := row{stranger: s}
	dir, err := os.MkdirTemp("", "stranger")
	if err == nil {
		defer func() { _ = os.RemoveAll(dir) }()
		err = r.try(ctx, molar, dir)
	}
	if err != nil {
		r.fault = err.Error()
	}
	return r
}

func (r *row) try(ctx context.Context, molar, dir string) error {
	script, err := install(ctx, dir, r.stranger)
	if err != nil {
		return err
	}
	began := time.Now()
	h, err := start(ctx, molar, dir, r.stranger, script)
	if err != nil {
		return err
	}
	defer h.stop()
	st, err := h.ready(ctx, time.Time{})
	if err != nil {
		return err
	}
	r.tools, r.out, r.started = st.Tools, len(st.Skipped), time.Since(began)
	arguments := r.Arguments
	if r.tool = r.Tool; r.tool == "" {
		if r.tool, err = h.harmless(ctx); err != nil {
			return err
		}
	}
	if r.tool == "" {
		r.tool, r.first = "none", "no tool reads without arguments"
	} else if r.first, err = h.call(ctx, r.tool, arguments); err != nil {
		return err
	}
	killed := time.Now()
	if err := h.kill(script); err != nil {
		return err
	}
	if _, err := h.ready(ctx, killed); err != nil {
		return fmt.Errorf("killed and not found again: %w", err)
	}
	r.again = time.Since(killed)
	if r.tool == "none" {
		return nil
	}
	if r.second, err = h.call(ctx, r.tool, arguments); err == nil && sort(r.second) != sort(r.first) {
		err = fmt.Errorf("the call ended otherwise after the kill: %s, before: %s", r.second, r.first)
	}
	if r.second == r.first {
		r.second = "the same"
	}
	return err
}

// sort returns how an outcome begins: what follows may hold a time.
func sort(outcome string) string {
	before, _, _ := strings.Cut(outcome, ":")
	return before
}

// install returns the script of the package's command.
func install(ctx context.Context, dir string, s stranger) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "npm", "install", "--prefix", dir, "--ignore-scripts", "--no-audit", "--no-fund", "--silent", s.Package+"@"+s.Version) //nolint:gosec // the table is ours
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm install: %w: %s", err, out)
	}
	home := filepath.Join(dir, "node_modules", filepath.FromSlash(s.Package))
	raw, err := os.ReadFile(filepath.Join(home, "package.json"))
	if err != nil {
		return "", err
	}
	var manifest struct {
		Bin json.RawMessage `json:"bin"`
	}
	if err := json.Unmarshal(raw, &manifest); err != nil {
		return "", err
	}
	var one string
	if json.Unmarshal(manifest.Bin, &one) == nil {
		return filepath.Join(home, one), nil
	}
	var several map[string]string
	if err := json.Unmarshal(manifest.Bin, &several); err != nil || len(several) == 0 {
		return "", errors.New("the package has no command")
	}
	for name, path := range several {
		if name == s.Bin || s.Bin == "" && len(several) == 1 {
			return filepath.Join(home, path), nil
		}
	}
	return "", fmt.Errorf("the package has several commands: %s", strings.Join(names(several), ", "))
}

func names(m map[string]string) []string {
	var all []string
	for name := range m {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// A host is a running Molar.
type host struct {
	cmd *exec.Cmd
	url string
}

// start writes the config, which alone attaches the server, and starts Molar.
func start(ctx context.Context, molar, dir string, s stranger, script string) (*host, error) {
	env := map[string]string{"HOME": dir}
	for name, value := range s.Env {
		env[name] = strings.ReplaceAll(value, "$DIR", dir)
	}
	args := []string{script}
	for _, arg := range s.Args {
		args = append(args, strings.ReplaceAll(arg, "$DIR", dir))
	}
	config, err := json.Marshal(map[string]any{
		"listen": "127.0.0.1:0", "llm": map[string]any{"provider": "offline"}, "memory": map[string]any{"store": filepath.Join(dir, "molar.db")},
		"mcpServers": map[string]any{"stranger": map[string]any{
			"command": "node", "args": args, "env": env, "cwd": dir, "trust": true, "start_timeout": "60s",
		}},
	})
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "molar.yaml") // JSON is YAML
	if err := os.WriteFile(file, config, 0o600); err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(dir, "molar.log"))
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	cmd := exec.CommandContext(ctx, molar, "serve", "--config", file) //nolint:gosec // the operator names it
	cmd.Dir, cmd.Env = dir, []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")}
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	h := &host{cmd: cmd}
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		text, _ := os.ReadFile(log.Name())
		if _, after, found := strings.Cut(string(text), "chat page: "); found && strings.Contains(after, "\n") {
			h.url = strings.TrimRight(strings.Fields(after)[0], "/")
			return h, nil
		}
	}
	h.stop()
	text, _ := os.ReadFile(log.Name())
	return nil, fmt.Errorf("molar does not start: %s", text)
}

func (h *host) stop() {
	_ = h.cmd.Process.Signal(os.Interrupt)
	ended := time.AfterFunc(20*time.Second, func() { _ = h.cmd.Process.Kill() })
	_ = h.cmd.Wait()
	ended.Stop()
}

// A status is what Molar says of a server.
type status struct {
	Name    string    `json:"name"`
	State   string    `json:"state"`
	Reason  string    `json:"reason"`
	Tools   int       `json:"tools"`
	Skipped []string  `json:"skipped"`
	Since   time.Time `json:"since"`
}

// ready waits until the server has been attached after the time.
func (h *host) ready(ctx context.Context, since time.Time) (status, error) {
	var st status
	for end := time.Now().Add(startWithin); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		var answer struct {
			Data []status `json:"data"`
		}
		if err := h.get(ctx, "/v1/servers", &answer); err != nil {
			return st, err
		}
		i := slices.IndexFunc(answer.Data, func(s status) bool { return s.Name == "stranger" })
		if i < 0 {
			return st, errors.New("molar does not know the server")
		}
		switch st = answer.Data[i]; {
		case st.State == "failed":
			return st, errors.New(st.Reason)
		case st.State == "ready" && st.Since.After(since):
			return st, nil
		}
	}
	return st, fmt.Errorf("%s after %s: %s", st.State, startWithin, st.Reason)
}

// get reads an answer of Molar.
func (h *host) get(ctx context.Context, path string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, h.url+path, http.NoBody)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	return json.NewDecoder(res.Body).Decode(into)
}

// harmless returns the first tool that reads and needs no argument.
func (h *host) harmless(ctx context.Context) (string, error) {
	var answer struct {
		Data []struct {
			Name  string `json:"name"`
			Input struct {
				Required []string `json:"required"`
			} `json:"inputSchema"`
			Server string `json:"server"`
			Class  string `json:"class"` // as Molar takes it
		} `json:"data"`
	}
	if err := h.get(ctx, "/v1/tools", &answer); err != nil {
		return "", err
	}
	for _, tool := range answer.Data {
		if tool.Server == "stranger" && len(tool.Input.Required) == 0 && tool.Class == "reads" {
			return strings.TrimPrefix(tool.Name, "stranger__"), nil
		}
	}
	return "", nil
}

// call calls a tool, and returns what came of it: the result, the vendor's own error, or Molar's. The
// last is the fault of one of the two.
func (h *host) call(ctx context.Context, tool string, arguments json.RawMessage) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	body, err := json.Marshal(map[string]any{"arguments": json.RawMessage(cmp.Or(string(arguments), "{}"))})
	if err != nil {
		return "", err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url+"/v1/tools/stranger__"+tool+"/call", bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		return "", err
	}
	var answer struct {
		Status string `json:"status"`
		Result struct {
			Output json.RawMessage `json:"output"`
		} `json:"result"`
	}
	if res.StatusCode != http.StatusOK || json.Unmarshal(raw, &answer) != nil {
		return "", fmt.Errorf("%s of %s: %s", res.Status, tool, raw)
	}
	output := string(answer.Result.Output)
	var text string
	if json.Unmarshal(answer.Result.Output, &text) == nil {
		output = text
	}
	return answer.Status + ": " + output, nil
}

// kill kills the server's process, the child of Molar that runs the script.
func (h *host) kill(script string) error {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return err
	}
	for _, file := range stats {
		raw, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		pid, _, _ := strings.Cut(string(raw), " ")
		fields := strings.Fields(string(raw[bytes.LastIndexByte(raw, ')')+1:]))
		if len(fields) < 2 || fields[1] != strconv.Itoa(h.cmd.Process.Pid) {
			continue
		}
		line, _ := os.ReadFile(filepath.Join("/proc", pid, "cmdline")) //nolint:gosec // of the kernel
		if number, err := strconv.Atoi(pid); err == nil && bytes.Contains(line, []byte(script)) {
			return syscall.Kill(number, syscall.SIGKILL)
		}
	}
	return errors.New("its process was not found")
}
