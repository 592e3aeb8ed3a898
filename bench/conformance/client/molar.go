//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"molar/internal/testkit"
	"molar/schemas"
)

// serverName is the name of the suite's server in the config.
const serverName = "suite"

// wantsLogin stands where molar asks for a login.
const wantsLogin = "molar servers login " + serverName

// molar is the program under test, in a home folder of its own.
type molar struct {
	program, home string
	path          string   // of the environment
	secrets       []string // variables that the config refers to
	log           *slog.Logger
}

// settings are those of the suite's server.
type settings struct {
	URL   string         `json:"url"`
	OAuth map[string]any `json:"oauth,omitempty"`
}

// configure writes the config file; secrets become variables.
func (m *molar) configure(s settings, secrets map[string]string) error {
	for name, value := range secrets {
		m.secrets = append(m.secrets, name+"="+value)
	}
	raw, err := json.Marshal(map[string]any{"mcpServers": map[string]any{serverName: s}})
	if err != nil {
		return err
	}
	return os.WriteFile(m.file(), raw, 0o600)
}

func (m *molar) file() string { return filepath.Join(m.home, "molar.yaml") }

func (m *molar) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, m.program, args...)
	cmd.Dir = m.home
	cmd.Env = append([]string{"HOME=" + m.home, "MOLAR_CONFIG=" + m.file(), "PATH=" + m.path, "TERM=dumb"}, m.secrets...)
	return cmd
}

// tools lists the tools of the suite's server. said is what molar says beside them.
func (m *molar) tools(ctx context.Context) (tools []schemas.ToolInfo, said string, err error) {
	cmd := m.command(ctx, "tools", "list", "--output-format", "json")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	m.log.Info("molar tools list", "error", err, "said", stderr.String())
	if err != nil {
		return nil, stderr.String(), fmt.Errorf("list the tools: %w: %s", err, stderr.String())
	}
	var all []schemas.ToolInfo
	if err := json.Unmarshal(stdout.Bytes(), &all); err != nil {
		return nil, "", fmt.Errorf("the list of tools: %w", err)
	}
	for _, t := range all {
		if t.Server == serverName {
			tools = append(tools, t)
		}
	}
	return tools, stderr.String(), nil
}

// call calls a tool at a terminal, where it answers what molar asks. It returns what the terminal
// shows.
func (m *molar) call(ctx context.Context, tool string, arguments json.RawMessage) (shown string, err error) {
	cmd := m.command(ctx, "tools", "call", tool, string(arguments))
	master, err := testkit.Start(cmd, 200, 50)
	if err != nil {
		return "", err
	}
	var screen strings.Builder
	typed := 0 // how much of the screen was answered
	again := ""
	buf := make([]byte, 32<<10)
	for {
		n, readErr := master.Read(buf)
		screen.Write(buf[:n])
		prompt := lastLine(screen.String()[typed:])
		if strings.HasSuffix(prompt, "(Enter declines) ") || strings.HasSuffix(prompt, ": ") {
			if _, err := master.WriteString(reply(prompt, prompt == again) + "\n"); err != nil {
				break
			}
			typed, again = screen.Len(), prompt
		}
		if readErr != nil { // the program has ended
			break
		}
	}
	err = errors.Join(cmd.Wait(), master.Close())
	m.log.Info("molar tools call", "tool", tool, "error", err, "shown", screen.String())
	return screen.String(), err
}

func lastLine(text string) string { return text[strings.LastIndexByte(text, '\n')+1:] }

// reply is what a person types who agrees to everything and changes nothing. again means that this
// did not fit.
func reply(prompt string, again bool) string {
	_, choices, closed := strings.Cut(prompt, " of ")
	switch {
	case strings.Contains(prompt, "[y/N]"):
		return "y"
	case !again:
		return "" // the default
	case closed:
		first, _, _ := strings.Cut(strings.TrimSuffix(choices, ": "), ",")
		return first
	case strings.Contains(prompt, ", boolean"):
		return "y"
	default:
		return "1"
	}
}

// logIn goes through one login; the suite's authorization server asks nobody.
func (m *molar) logIn(ctx context.Context) {
	cmd := m.command(ctx, "servers", "login", serverName, "--no-browser")
	said, out := io.Pipe()
	var all bytes.Buffer
	both := io.MultiWriter(&all, out)
	cmd.Stdout, cmd.Stderr = both, both
	paste, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		m.log.Error("molar servers login", "error", err)
		return
	}
	browsed := make(chan error, 1)
	go func() { browsed <- browse(ctx, said, paste) }()
	err = cmd.Wait()
	_ = out.Close()
	m.log.Info("molar servers login", "error", errors.Join(err, <-browsed), "said", all.String())
}

// browse opens the first address that molar says in a browser, and pastes the one at which that
// ends.
func browse(ctx context.Context, said io.Reader, paste io.WriteCloser) error {
	var failed error
	for lines := bufio.NewScanner(said); lines.Scan(); { // to the end, since molar would wait for its reader
		if !strings.HasPrefix(lines.Text(), "http") {
			continue
		}
		back, err := openIn(ctx, lines.Text())
		if err == nil {
			_, err = io.WriteString(paste, back+"\n")
		}
		failed = errors.Join(failed, err, paste.Close())
	}
	return failed
}

// openIn is the browser: it returns the address that it was sent back to.
func openIn(ctx context.Context, address string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return "", err
	}
	browser := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := browser.Do(r)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	back, err := resp.Location()
	if err != nil {
		body, _ := io.ReadAll(io.LimitReader(resp.Body, 1000))
		return "", fmt.Errorf("the authorization server answered %s: %s", resp.Status, body)
	}
	return back.String(), nil
}
