package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"

	"molar/internal/access"
	"molar/internal/cli"
	"molar/internal/config"
	"molar/internal/host"
	"molar/internal/httpguard"
	"molar/internal/store"
	"molar/mcpservers/httpserver"
)

// An mcpPort is an MCP server with its back end.
type mcpPort struct {
	server *httpserver.Server
	db     *store.DB
	// keys are nil on standard input and output.
	keys *access.Access
	// closeBackend closes the store or the host behind the server.
	closeBackend func()
}

func (p *mcpPort) close() {
	if p.server != nil {
		p.server.Close()
	}
	p.closeBackend()
}

// open wires what a port serves: memory and search tools, or a whole host whose assistants are
// tools. A port has a guard, and then keys; standard input and output have neither.
func (m MCPConfig) open(ctx context.Context, guard func(http.Handler) http.Handler) (_ *mcpPort, err error) {
	p := &mcpPort{closeBackend: func() {}}
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	port := httpserver.Config{Guard: guard, Logger: m.Log, Version: cli.Version()}
	openBehind := p.openMemory
	if m.Assistants {
		openBehind = p.openAssistants
	}
	if err := openBehind(ctx, m, &port); err != nil {
		return nil, err
	}
	if guard != nil {
		if p.keys, err = access.Open(ctx, access.Config{
			Store: p.db, Keys: m.Config.APIKeys, Groups: m.Config.Groups, Closed: m.Config.ProxySetting() != "", Logger: m.Log,
		}); err != nil {
			return nil, err
		}
		port.Keys = p.keys.Ring()
	}
	if rate := m.Config.MCP.Rate; rate != nil {
		port.Rate = cmp.Or(*rate, -1) // 0 means no limit there
	}
	if port.Clients, err = httpguard.NewAddresses(m.Config.TrustedProxies); err != nil {
		return nil, err
	}
	p.server, err = httpserver.New(port)
	return p, err
}

// openMemory connects memory and search tools to the port.
func (p *mcpPort) openMemory(ctx context.Context, m MCPConfig, port *httpserver.Config) (err error) {
	topics, err := host.OpenTopics(m.Config)
	if err != nil {
		return err
	}
	if p.db, err = store.Open(ctx, store.Config{Path: m.Config.Memory.Store, Logger: m.Log}); err != nil {
		return err
	}
	p.closeBackend = func() {
		if err := p.db.Close(); err != nil {
			m.Log.Warn("closing failed", "what", "database", "error", err)
		}
	}
	if port.Memory, err = host.NewMemoryServer(m.Config, topics, p.db, m.Log); err != nil {
		return err
	}
	reader, err := host.NewDocuments(m.Config)
	if err != nil {
		return err
	}
	port.Tools, err = host.NewToolServer(m.Config, topics, reader, p.db, nil, m.Log)
	return err
}

// An MCPConfig configures "molar mcp".
type MCPConfig struct {
	CLI    *cli.CLI
	Config *config.Config
	Log    *slog.Logger
	// Assistants offers the assistants as tools, instead of memory and search.
	Assistants bool
}

// database returns the path of the port's database.
func (m MCPConfig) database() string {
	if m.Assistants {
		return m.Config.Database()
	}
	return m.Config.Memory.Store
}

// MCP serves until ctx ends, and then drains.
func MCP(ctx context.Context, m MCPConfig) (err error) {
	c, cfg, log := m.CLI, m.Config, m.Log
	if err := access.CheckListen(ctx, cfg, cfg.MCP.Listen, m.database()); err != nil {
		return err
	}
	certificate, err := loadTLS(cfg, log)
	if err != nil {
		return err
	}
	listener, err := listen(ctx, cfg.MCP.Listen)
	if err != nil {
		return err
	}
	defer listener.Close()
	hosts, err := httpguard.Hosts(listener.Addr().String(), cfg.AllowedHosts...)
	if err != nil {
		return err
	}
	// The port itself refuses a body above its limit, with a JSON-RPC error.
	guard, err := httpguard.New(httpguard.Config{Hosts: hosts, MaxBody: 2 * httpserver.MaxBody})
	if err != nil {
		return err
	}
	p, err := m.open(context.WithoutCancel(ctx), guard)
	if err != nil {
		return err
	}
	defer p.close()
	calls, cancelCalls := context.WithCancel(context.WithoutCancel(ctx))
	defer cancelCalls()
	server := newServer(calls, p.server, log)
	server.TLSConfig = certificate
	server.RegisterOnShutdown(p.server.Close) // open streams would delay the drain
	ended := make(chan error, 1)
	go func() { ended <- serveOn(server, bound(listener, log)) }()
	defer background(ctx, func(ctx context.Context) { applyRetention(ctx, log, retentions(cfg, p.db)...) })()
	defer background(ctx, func(ctx context.Context) { p.keys.Watch(ctx, func() {}) })()
	c.Say("molar mcp listens on %s://%s: JSON-RPC on /jsonrpc, MCP on /mcp", cfg.Scheme(), listener.Addr())
	warnPlain(cfg, cfg.MCP.Listen, log)
	c.Say("store: %s", p.db.Path())
	select {
	case err := <-ended:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	if err := drain(log, cfg.Shutdown.Drain, server, cancelCalls); err != nil {
		return err
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}

// MCPStdio serves MCP on the standard streams; nothing else goes to standard output.
func MCPStdio(ctx context.Context, m MCPConfig) error {
	p, err := m.open(context.WithoutCancel(ctx), nil)
	if err != nil {
		return err
	}
	defer p.close()
	defer background(ctx, func(ctx context.Context) { applyRetention(ctx, m.Log, retentions(m.Config, p.db)...) })()
	return p.server.ServeStdio(ctx, m.CLI.Stdin, m.CLI.Stdout)
}

// background runs f in the background. The returned func ends it.
func background(ctx context.Context, f func(context.Context)) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { f(ctx) })
	return func() {
		cancel()
		running.Wait()
	}
}
