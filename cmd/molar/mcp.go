package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"

	"github.com/spf13/cobra"

	"molar/internal/config"
	"molar/internal/httpguard"
	"molar/internal/store"
	"molar/mcpservers"
	"molar/mcpservers/httpserver"
	memoryserver "molar/mcpservers/memory"
	"molar/mcpservers/search"
)

func newMCPCmd(a *app) *cobra.Command {
	var (
		listen string
		stdio  bool
	)
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Serve memory and search tools alone, over JSON-RPC and MCP",
		Long: `Serve memory and search tools alone, without a host and without a model.

Plain JSON-RPC is at /jsonrpc (methods such as memory-server/memory/get_context),
standard MCP at /mcp. A host uses it with memory.url or MCP_SERVER_URL. With --stdio
it speaks standard MCP on standard input and output, for clients that start it.`,
		Example: `  molar mcp
  molar mcp --listen 127.0.0.1:8011
  MCP_SERVER_URL=http://127.0.0.1:8001 molar serve
  molar mcp --stdio`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := a.loadConfig(map[string]string{"mcp.listen": listen})
			if err != nil {
				return err
			}
			level := slog.LevelInfo
			if stdio {
				level = slog.LevelWarn
			}
			log, err := a.logger(cfg.Telemetry, level)
			if err != nil {
				return err
			}
			if stdio {
				return a.mcpStdio(cmd.Context(), cfg, log)
			}
			return a.mcpHTTP(cmd.Context(), cfg, log)
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "", "`address` to listen on (default 127.0.0.1:8001)")
	cmd.Flags().BoolVar(&stdio, "stdio", false, "speak MCP on standard input and output instead")
	cmd.MarkFlagsMutuallyExclusive("listen", "stdio")
	return cmd
}

// newMemoryServer builds the memory server over a store.
func newMemoryServer(cfg *config.Config, db *store.DB, log *slog.Logger) (*mcpservers.Dispatcher, error) {
	return memoryserver.New(memoryserver.Config{
		Store:                db,
		KeepRecent:           cfg.Memory.KeepRecentMessages,
		CompressAfterSummary: cfg.Memory.CompressAfterSummary,
		Logger:               log,
	})
}

// newToolServer builds the search tools.
func newToolServer(cfg *config.Config, log *slog.Logger) (*mcpservers.Dispatcher, error) {
	google, err := googleSearch(cfg, log)
	if err != nil {
		return nil, err
	}
	ddg := cfg.Search.DuckDuckGo
	return search.New(search.Config{
		Google:     google,
		DuckDuckGo: search.DuckDuckGoConfig{BaseURL: ddg.BaseURL, Region: ddg.Region, Timeout: ddg.Timeout},
		Logger:     log,
	})
}

// openMCP wires store, memory and tools. The caller closes server and store. A port has
// a guard, and then keys; standard input and output have neither.
func openMCP(ctx context.Context, cfg *config.Config, log *slog.Logger, guard func(http.Handler) http.Handler) (*httpserver.Server, *store.DB, *access, error) {
	db, err := store.Open(ctx, store.Config{Path: cfg.Memory.Store, Logger: log})
	if err != nil {
		return nil, nil, nil, err
	}
	var keys *access
	if guard != nil {
		keys, err = openAccess(ctx, db, cfg.APIKeys, false, log)
	}
	var server *httpserver.Server
	if err == nil {
		server, err = newMCPServer(cfg, db, log, guard, keys)
	}
	if err != nil {
		_ = db.Close() // the first fault is the one to tell
		return nil, nil, nil, err
	}
	return server, db, keys, nil
}

func newMCPServer(cfg *config.Config, db *store.DB, log *slog.Logger, guard func(http.Handler) http.Handler, keys *access) (*httpserver.Server, error) {
	memory, err := newMemoryServer(cfg, db, log)
	if err != nil {
		return nil, err
	}
	tools, err := newToolServer(cfg, log)
	if err != nil {
		return nil, err
	}
	rate := cfg.MCP.Rate
	if rate == 0 {
		rate = -1 // no bound
	}
	port := httpserver.Config{Memory: memory, Tools: tools, Guard: guard, Rate: rate, Logger: log, Version: hostVersion()}
	if port.Clients, err = httpguard.NewAddresses(cfg.TrustedProxies); err != nil {
		return nil, err
	}
	if keys != nil {
		port.Keys = keys.ring
	}
	return httpserver.New(port)
}

// mcpHTTP serves until ctx ends, and then drains.
func (a *app) mcpHTTP(ctx context.Context, cfg *config.Config, log *slog.Logger) (err error) {
	if err := refuseOpen(ctx, cfg, cfg.MCP.Listen, cfg.Memory.Store); err != nil {
		return err
	}
	certificate, err := loadTLS(cfg, log)
	if err != nil {
		return err
	}
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", cfg.MCP.Listen)
	if err != nil {
		return explainPort(cfg.MCP.Listen, err)
	}
	defer listener.Close()
	hosts, err := httpguard.Hosts(listener.Addr().String(), cfg.AllowedHosts...)
	if err != nil {
		return err
	}
	// The port itself refuses a body above its limit, in the words of JSON-RPC.
	guard, err := httpguard.New(httpguard.Config{Hosts: hosts, MaxBody: 2 * httpserver.MaxBody})
	if err != nil {
		return err
	}
	handler, db, keys, err := openMCP(context.WithoutCancel(ctx), cfg, log, guard)
	if err != nil {
		return err
	}
	defer closeDB(db, log)
	defer handler.Close()
	calls, cancelCalls := context.WithCancel(context.WithoutCancel(ctx))
	defer cancelCalls()
	server := newServer(calls, handler, log)
	server.TLSConfig = certificate
	server.RegisterOnShutdown(handler.Close) // open streams would hold the drain up
	ended := make(chan error, 1)
	go func() { ended <- serveOn(server, listener) }()
	defer beside(ctx, func(ctx context.Context) { applyRetention(ctx, cfg.Memory.Retention, db.DeleteOlder, log) })()
	defer beside(ctx, func(ctx context.Context) { keys.watch(ctx, func() {}) })()
	a.say("molar mcp listens on %s://%s: JSON-RPC on /jsonrpc, MCP on /mcp", schemeOf(cfg), listener.Addr())
	warnPlain(cfg, cfg.MCP.Listen, log)
	a.say("store: %s", db.Path())
	select {
	case err := <-ended:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	if err := drain(log, server, cancelCalls); err != nil {
		return err
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}

// mcpStdio speaks MCP on the standard streams; nothing else goes to standard output.
func (a *app) mcpStdio(ctx context.Context, cfg *config.Config, log *slog.Logger) error {
	server, db, _, err := openMCP(context.WithoutCancel(ctx), cfg, log, nil)
	if err != nil {
		return err
	}
	defer closeDB(db, log)
	defer server.Close()
	defer beside(ctx, func(ctx context.Context) { applyRetention(ctx, cfg.Memory.Retention, db.DeleteOlder, log) })()
	return server.ServeStdio(ctx, a.stdin, a.stdout)
}

// beside runs f in the background. The returned func ends it.
func beside(ctx context.Context, f func(context.Context)) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { f(ctx) })
	return func() {
		cancel()
		running.Wait()
	}
}

func closeDB(db *store.DB, log *slog.Logger) {
	if err := db.Close(); err != nil {
		log.Warn("closing left a fault", "what", "database", "error", err)
	}
}
