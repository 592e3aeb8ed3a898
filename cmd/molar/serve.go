package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"molar/internal/config"
	"molar/internal/httpguard"
	"molar/providers/chain"
	"molar/schemas"
	"molar/web"
)

// Times of serve.
const (
	// serveAttachWait is how long a turn waits for servers that are starting.
	serveAttachWait = 5 * time.Second
	// drainTime is how long open streams may go on after an interrupt; then they are
	// cancelled and saved as interrupted.
	drainTime = 10 * time.Second
	// announceWait is how long the printed overview waits for servers.
	announceWait = 3 * time.Second
)

func newServeCmd(a *app) *cobra.Command {
	var (
		listen string
		mcp    []string
	)
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the chat page and the OpenAI-compatible endpoint",
		Long: `Serve the chat page on / and the OpenAI-compatible endpoint on /v1/chat/completions.

Without a config file the built-in assistants answer, with the provider that can be
had: an Ollama with a usable model, else offline, which quotes tools and says so.`,
		Example: `  molar serve
  molar serve --config molar.yaml --listen 127.0.0.1:8080
  molar serve --mcp family="go run ./examples/family/server"`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.serve(cmd.Context(), func() (*config.Config, error) {
				return a.loadWithServers(map[string]string{"listen": listen}, mcp)
			})
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "", "`address` to listen on (default 127.0.0.1:8000)")
	cmd.Flags().StringArrayVar(&mcp, "mcp", nil, "attach an MCP server: `NAME=\"command line\"` or NAME=https://address; may be repeated")
	return cmd
}

// loadWithServers reads the settings and adds the servers of --mcp.
func (a *app) loadWithServers(flags map[string]string, mcp []string) (*config.Config, error) {
	cfg, err := a.loadConfig(flags)
	if err != nil {
		return nil, err
	}
	if cfg, err = cfg.WithServers(mcp); err != nil {
		return nil, &exitError{exitUsage, err}
	}
	return cfg, nil
}

// serve listens, answers until ctx ends, and then drains. load reads the settings,
// now and at every reload.
func (a *app) serve(ctx context.Context, load func() (*config.Config, error)) error {
	cfg, err := load()
	if err != nil {
		return err
	}
	log, err := a.logger(cfg.Telemetry, slog.LevelInfo)
	if err != nil {
		return err
	}
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", cfg.Listen)
	if err != nil {
		return explainPort(cfg.Listen, err)
	}
	defer listener.Close()
	h, err := openHost(ctx, cfg, log, hostOptions{attachWait: serveAttachWait, summaries: true})
	if err != nil {
		return err
	}
	defer h.Close()
	ctx, end := context.WithCancel(ctx)
	defer end()
	files := &reloader{load: load, servers: h.serverConfigs, to: h.mcp, log: log, running: cfg}
	handler, err := h.handler(listener.Addr(), files)
	if err != nil {
		return err
	}
	turns, cancelTurns := context.WithCancel(context.WithoutCancel(ctx))
	defer cancelTurns()
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 5 * time.Second,
		MaxHeaderBytes:    64 << 10,
		BaseContext:       func(net.Listener) context.Context { return turns },
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	ended := make(chan error, 1)
	h.background.Go(func() { ended <- server.Serve(listener) })
	a.say("molar listens on http://%s", listener.Addr())
	h.background.Go(func() { a.announce(ctx, h) })
	h.background.Go(func() { files.watch(ctx) })
	h.background.Go(func() { files.hangups(ctx, a.stdin, end) })
	select {
	case err := <-ended:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	return drain(log, server, cancelTurns)
}

// handler builds the routes for the address that is listened on.
func (h *host) handler(addr net.Addr, files *reloader) (http.Handler, error) {
	hosts, err := httpguard.Hosts(addr.String(), h.cfg.AllowedHosts...)
	if err != nil {
		return nil, err
	}
	guard, err := httpguard.New(httpguard.Config{
		Hosts: hosts, Open: []string{"/health", "/ready"}, MaxBody: int64(h.cfg.Limits.Body),
	})
	if err != nil {
		return nil, err
	}
	return web.New(web.Config{
		Agent:         h.agent,
		Models:        h.modelInfos,
		Conversations: conversations{h.memory},
		Tools:         catalogue{h.mcp},
		Servers:       h.mcp,
		Traces:        traceStore{h.db, h.traces},
		Ready:         h.ready,
		Reload: func(ctx context.Context) (web.Reloaded, error) {
			return files.reload(ctx, "a request")
		},
		Guard:   guard,
		Logger:  h.log,
		Version: hostVersion(),
	})
}

func (h *host) modelInfos() []web.ModelInfo {
	var infos []web.ModelInfo
	for _, as := range h.agent.Assistants() {
		info := web.ModelInfo{ID: as.Name, Description: as.Description}
		if as.Name == h.cfg.Default { // clients take the first one
			infos = append([]web.ModelInfo{info}, infos...)
			continue
		}
		infos = append(infos, info)
	}
	return infos
}

// drain lets open answers end, and cancels those that take too long.
func drain(log *slog.Logger, server *http.Server, cancelTurns context.CancelFunc) error {
	log.Info("shutting down: waiting for open answers", "at_most", drainTime)
	ctx, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	err := server.Shutdown(ctx)
	cancelTurns()
	if errors.Is(err, context.DeadlineExceeded) {
		last, done := context.WithTimeout(context.Background(), time.Second)
		defer done()
		if err = server.Shutdown(last); err != nil {
			_ = server.Close()
		}
		return nil
	}
	return err
}

// announce prints which model answers and why, and what is attached.
func (a *app) announce(ctx context.Context, h *host) {
	route, err := h.chain.Pick(ctx, chain.Want{})
	if err != nil {
		a.say("provider: none (%v)", err)
	} else {
		name := route.Provider.Name()
		if route.Model != "" {
			name += ", model " + route.Model
		}
		a.say("provider: %s (%s)", name, route.Why)
	}
	wait, cancel := context.WithTimeout(ctx, announceWait)
	defer cancel()
	_ = h.mcp.Wait(wait, nil) // what is still starting is printed as that
	a.say("assistants: %s (default %s)", strings.Join(h.cfg.Assistants.Names(), ", "), h.cfg.Default)
	for _, s := range h.mcp.Status() {
		a.say("server: %s", serverLine(s))
	}
}

// serverLine describes a server in one line.
func serverLine(s schemas.ServerStatus) string {
	line := fmt.Sprintf("%s %s (%s)", s.Name, s.State, s.Transport)
	switch {
	case s.State == schemas.StateReady || s.State == schemas.StateDegraded:
		line += fmt.Sprintf(", %d tools", s.Tools)
		if len(s.Skipped) > 0 {
			line += fmt.Sprintf(", %d left out", len(s.Skipped))
		}
	case s.Reason != "":
		line += ": " + s.Reason
	}
	return line
}

// say prints a line of overview on standard output.
func (a *app) say(format string, args ...any) {
	_, _ = fmt.Fprintf(a.stdout, format+"\n", args...)
}
