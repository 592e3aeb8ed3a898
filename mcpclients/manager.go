package mcpclients

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"

	"molar/schemas"
)

// A Manager holds the connections to all configured servers.
type Manager struct {
	servers []*server // sorted by name
	byName  map[string]*server
	log     *slog.Logger
	client  *http.Client // set only when it is the manager's own

	catalogue atomic.Pointer[Catalogue]
	publishMu sync.Mutex // one rebuild of the catalogue at a time

	mu          sync.Mutex // guards the fields below
	started     bool
	closed      bool
	stop        context.CancelFunc
	supervisors sync.WaitGroup
}

// New checks the config and returns a manager that is not started yet. The error
// joins every fault, each with its place in the config.
func New(cfg Config) (*Manager, error) {
	if cfg.StartTimeout < 0 || cfg.ListTimeout < 0 || cfg.MaxResult < 0 {
		return nil, errors.New("timeouts and limits of the MCP servers must not be negative")
	}
	if err := validateServers(cfg.Servers); err != nil {
		return nil, err
	}
	m := &Manager{byName: map[string]*server{}, log: cfg.Logger}
	if m.log == nil {
		m.log = slog.New(slog.DiscardHandler)
	}
	client := cfg.HTTPClient
	if client == nil {
		client = newHTTPClient()
		m.client = client
	}
	dial := newDialer(client)
	if cfg.Wrap != nil {
		dial = cfg.Wrap(dial)
	}
	shared := settings{
		client: Implementation{
			Name: cmp.Or(cfg.Client.Name, "molar"), Version: cmp.Or(cfg.Client.Version, "0"),
		},
		startTimeout: cmp.Or(cfg.StartTimeout, DefaultStartTimeout),
		listTimeout:  cmp.Or(cfg.ListTimeout, DefaultListTimeout),
		maxResult:    cmp.Or(cfg.MaxResult, DefaultMaxResult),
	}
	for _, sc := range cfg.Servers {
		srv := newServer(copyConfig(sc), shared, dial, m.log, m.publish)
		m.servers = append(m.servers, srv)
		m.byName[sc.Name] = srv
	}
	slices.SortFunc(m.servers, func(a, b *server) int { return cmp.Compare(a.cfg.Name, b.cfg.Name) })
	m.catalogue.Store(newCatalogue(nil))
	return m, nil
}

// copyConfig keeps later changes of the caller's maps and slices away.
func copyConfig(s ServerConfig) ServerConfig {
	s.Args, s.Env, s.Headers = slices.Clone(s.Args), maps.Clone(s.Env), maps.Clone(s.Headers)
	s.IncludeTools, s.ExcludeTools = slices.Clone(s.IncludeTools), slices.Clone(s.ExcludeTools)
	s.Rules = slices.Clone(s.Rules)
	return s
}

// newDialer returns the dialer of the real transports.
func newDialer(client *http.Client) Dialer {
	return func(_ context.Context, cfg ServerConfig, notify Notify) (Conn, error) {
		switch cfg.transport() {
		case TypeHTTP:
			return dialHTTP(&cfg, client, notify)
		case TypeInProcess:
			return newInProcess(cfg.InProcess), nil
		default:
			return dialStdio(&cfg, notify)
		}
	}
}

// Start begins to attach all servers, in parallel, and returns at once. They are
// detached when ctx ends or at Close. A second Start does nothing.
func (m *Manager) Start(ctx context.Context) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.started || m.closed {
		return
	}
	m.started = true
	ctx, m.stop = context.WithCancel(ctx)
	for _, s := range m.servers {
		if !s.cfg.Disabled {
			m.supervisors.Go(func() { s.supervise(ctx) })
		}
	}
}

// publish builds the catalogue anew from the tools of all servers.
func (m *Manager) publish() {
	m.publishMu.Lock()
	defer m.publishMu.Unlock()
	var tools []schemas.Tool
	for _, s := range m.servers {
		s.mu.Lock()
		tools = append(tools, s.tools...)
		s.mu.Unlock()
	}
	m.catalogue.Store(newCatalogue(tools))
}

// Catalogue returns the tools of all servers that are attached now. The snapshot
// never changes; a later one may differ.
func (m *Manager) Catalogue() *Catalogue { return m.catalogue.Load() }

// Status describes all configured servers, sorted by name.
func (m *Manager) Status() []schemas.ServerStatus {
	all := make([]schemas.ServerStatus, len(m.servers))
	for i, s := range m.servers {
		all[i] = s.look().status
		all[i].Skipped, all[i].Stderr = slices.Clone(all[i].Skipped), slices.Clone(all[i].Stderr)
		if live := s.conn.Load(); live != nil {
			all[i].Stderr = stderrOf(live.Conn)
		}
	}
	return all
}

// Wait returns when none of the named servers (nil: none at all) is still
// starting, whatever became of it, or with the cause of ctx. Named servers that
// are in backoff are asked to try again now, but not waited for.
func (m *Manager) Wait(ctx context.Context, servers []string) error {
	waited := m.servers
	if servers != nil {
		waited = nil
		for _, name := range servers {
			s, err := m.server(name)
			if err != nil {
				return err
			}
			if s.look().status.State == schemas.StateBackoff {
				s.wake()
			}
			waited = append(waited, s)
		}
	}
	for _, s := range waited {
		for now := s.look(); now.status.State == schemas.StateStarting; now = s.look() {
			select {
			case <-now.changed:
			case <-ctx.Done():
				return fmt.Errorf("wait for MCP server %q: %w", s.cfg.Name, context.Cause(ctx))
			}
		}
	}
	return nil
}

func (m *Manager) server(name string) (*server, error) {
	if s, ok := m.byName[name]; ok {
		return s, nil
	}
	return nil, fmt.Errorf("%w %q: add it under mcpServers", ErrUnknownServer, name)
}

// Close detaches all servers in parallel, ends their processes and waits for
// everything that the manager started. It takes up to 5 s for a process that does
// not want to end.
func (m *Manager) Close() error {
	m.mu.Lock()
	m.closed = true
	if m.stop != nil {
		m.stop()
	}
	m.mu.Unlock()
	m.supervisors.Wait()
	if m.client != nil {
		m.client.CloseIdleConnections()
	}
	return nil
}
