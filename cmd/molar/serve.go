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
		tape   string
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
			return a.serve(cmd.Context(), tape, func() (*config.Config, error) {
				return a.loadWithServers(map[string]string{"listen": listen}, mcp)
			})
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "", "`address` to listen on (default 127.0.0.1:8000)")
	cmd.Flags().StringArrayVar(&mcp, "mcp", nil, "attach an MCP server: `NAME=\"command line\"` or NAME=https://address; may be repeated")
	cmd.Flags().StringVar(&tape, "record", "", "write a tape of all turns to this new `file`, for molar eval")
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
func (a *app) serve(ctx context.Context, tape string, load func() (*config.Config, error)) (err error) {
	cfg, err := load()
	if err != nil {
		return err
	}
	log, err := a.logger(cfg.Telemetry, slog.LevelInfo)
	if err != nil {
		return err
	}
	if err := refuseOpen(ctx, cfg, cfg.Listen, cfg.Database()); err != nil {
		return err
	}
	certificate, err := loadTLS(cfg, log)
	if err != nil {
		return err
	}
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", cfg.Listen)
	if err != nil {
		return explainPort(cfg.Listen, err)
	}
	defer listener.Close()
	edges, recorded, err := record(tape, cfg, "", "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, recorded()) }()
	h, err := openHost(ctx, cfg, log, hostOptions{attachWait: serveAttachWait, summaries: true, metrics: true, env: a.env, edges: edges})
	if err != nil {
		return err
	}
	defer h.Close()
	h.gate.crowded = collectSooner(a.env)
	if h.access, err = openAccess(ctx, h.db, cfg.APIKeys, true, log); err != nil {
		return err
	}
	ctx, end := context.WithCancel(ctx)
	h.turns = web.NewTurns(log, nil)
	defer h.turns.Drain(ctx) // ctx has ended by then: what still runs is cut
	defer end()
	files := &reloader{load: load, keys: h.access.useFile, servers: h.serverConfigs, to: h.mcp, log: log, running: cfg}
	handler, err := h.handler(listener.Addr(), files)
	if err != nil {
		return err
	}
	turns, cancelTurns := context.WithCancel(context.WithoutCancel(ctx))
	defer cancelTurns()
	server := newServer(turns, handler, log)
	server.TLSConfig = certificate
	ended := make(chan error, 1)
	h.background.Go(func() { ended <- serveOn(server, listener) })
	a.say("molar listens on %s://%s", schemeOf(cfg), listener.Addr())
	warnPlain(cfg, cfg.Listen, log)
	a.sayLink(h, listener.Addr())
	h.background.Go(func() { h.access.watch(ctx, func() { a.sayLink(h, listener.Addr()) }) })
	h.background.Go(func() {
		a.announce(ctx, h)
		releaseStart()
	})
	h.background.Go(func() { h.warm(ctx) })
	h.background.Go(func() { files.watch(ctx) })
	h.background.Go(func() { watchDecisions(ctx, h.db, h.mcp, log) })
	h.background.Go(func() { applyRetention(ctx, cfg.Memory.Retention, h.db.DeleteOlder, log) })
	h.background.Go(func() { files.hangups(ctx, a.stdin, end) })
	select {
	case err := <-ended:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	left, done := context.WithTimeout(context.Background(), drainTime)
	defer done()
	log.Info("shutting down: waiting for open answers", "at_most", drainTime)
	h.gate.shut(left)
	return closePort(left, server, func() {
		h.turns.Drain(left)
		cancelTurns()
	})
}

// handler builds the routes for the address that is listened on.
func (h *host) handler(addr net.Addr, files *reloader) (http.Handler, error) {
	cfg, err := h.webConfig(addr, files)
	if err != nil {
		return nil, err
	}
	return web.New(cfg)
}

func (h *host) webConfig(addr net.Addr, files *reloader) (web.Config, error) {
	hosts, err := httpguard.Hosts(addr.String(), h.cfg.AllowedHosts...)
	if err != nil {
		return web.Config{}, err
	}
	guard, err := httpguard.New(httpguard.Config{
		Hosts: hosts, Open: []string{"/health", "/ready"}, MaxBody: int64(h.cfg.Limits.Body),
	})
	if err != nil {
		return web.Config{}, err
	}
	access, err := h.webAccess()
	if err != nil {
		return web.Config{}, err
	}
	return web.Config{
		Agent:         h.runner(),
		Models:        h.modelInfos,
		Conversations: conversations{h.memory, traceStore{h.db, h.traces}},
		Tools:         catalogue{h.mcp},
		Servers:       h.mcp,
		Traces:        traceStore{h.db, h.traces},
		Ready:         h.ready,
		Reload: func(ctx context.Context) (web.Reloaded, error) {
			return files.reload(ctx, "a request")
		},
		Keys:       keyStore{h.db},
		Turns:      h.turns,
		Operations: h.operations(),
		Hints:      h.hints(),
		Telemetry:  h.telemetry,
		Guard:      guard,
		MayChoose:  h.cfg.MayChoose,
		Access:     access,
		Logger:     h.log,
		Version:    hostVersion(),
	}, nil
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
	return closePort(ctx, server, cancelTurns)
}

// closePort lets what is open end while ctx lasts, and cancels the rest.
func closePort(ctx context.Context, server *http.Server, cancelTurns context.CancelFunc) error {
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
