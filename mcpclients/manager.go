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

	"molar/mcpclients/oauth"
	"molar/schemas"
)

// A Manager holds the connections to all configured servers.
type Manager struct {
	servers atomic.Pointer[roster]
	build   func(ServerConfig) *server
	// decisions are the switches and pins.
	decisions *decisions
	log       *slog.Logger
	client    *http.Client // set only when it is the manager's own

	catalogue atomic.Pointer[Catalogue]
	publishMu sync.Mutex // one rebuild of the catalogue at a time

	applyMu sync.Mutex // one change of the config at a time

	mu     sync.Mutex                             // guards the fields below and the growth of work
	launch func(s *server, after <-chan struct{}) // nil until Start
	closed bool
	stop   context.CancelFunc
	work   sync.WaitGroup // supervisors, and servers that are being retired
}

// A roster is the set of configured servers. It never changes; a new config brings a
// new one.
type roster struct {
	list   []*server // sorted by name
	byName map[string]*server
}

func newRoster(list []*server) *roster {
	r := &roster{list: list, byName: make(map[string]*server, len(list))}
	slices.SortFunc(list, func(a, b *server) int { return cmp.Compare(a.name, b.name) })
	for _, s := range list {
		r.byName[s.name] = s
	}
	return r
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
	var logins *oauth.Client
	if cfg.Logins != nil {
		transport := http.RoundTripper(nil)
		if cfg.HTTPClient != nil {
			transport = cfg.HTTPClient.Transport
		}
		var err error
		if logins, err = oauth.NewClient(transport, nil); err != nil {
			return nil, err
		}
	}
	m := &Manager{log: cfg.Logger, decisions: newDecisions(cfg.Decisions, cfg.Keeper)}
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
		elicit:       cfg.Elicit,
		decisions:    m.decisions,
		telemetry:    cfg.Telemetry,
		logins:       cfg.Logins,
		oauth:        logins,
		log:          m.log,
	}
	m.build = func(sc ServerConfig) *server {
		return newServer(copyConfig(sc), shared, dial, m.log, m.publish)
	}
	var list []*server
	for _, sc := range cfg.Servers {
		list = append(list, m.build(sc))
	}
	m.servers.Store(newRoster(list))
	m.catalogue.Store(newCatalogue(nil))
	return m, nil
}

// copyConfig keeps later changes of the caller's maps and slices away.
func copyConfig(s ServerConfig) ServerConfig {
	s.Args, s.Env, s.Headers = slices.Clone(s.Args), maps.Clone(s.Env), maps.Clone(s.Headers)
	s.IncludeTools, s.ExcludeTools = slices.Clone(s.IncludeTools), slices.Clone(s.ExcludeTools)
	s.Rules = slices.Clone(s.Rules)
	s.OAuth.Scopes = slices.Clone(s.OAuth.Scopes)
	return s
}

// newDialer returns the dialer of the real transports.
func newDialer(client *http.Client) Dialer {
	return func(ctx context.Context, cfg ServerConfig, notify Notify) (Conn, error) {
		if cfg.answer == nil {
			cfg.answer = Elicitor(nil).answers(cfg.Name)
		}
		switch cfg.transport() {
		case TypeHTTP:
			return dialHTTP(&cfg, client, notify)
		case TypeSSE:
			return dialSSE(ctx, &cfg, client, notify)
		case TypeMessage:
			return dialPlain(ctx, &cfg, client)
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
	m.applyMu.Lock()
	defer m.applyMu.Unlock()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.launch != nil || m.closed {
		return
	}
	ctx, m.stop = context.WithCancel(ctx)
	m.launch = func(s *server, after <-chan struct{}) { m.supervise(ctx, s, after) }
	for _, s := range m.servers.Load().list {
		m.launch(s, nil)
	}
}

// supervise starts the supervisor of a server once after is closed; nil means now.
// m.mu is held.
func (m *Manager) supervise(ctx context.Context, s *server, after <-chan struct{}) {
	ctx, s.stop = context.WithCancel(ctx)
	if s.config().Disabled {
		close(s.ended)
		return
	}
	m.work.Go(func() {
		defer close(s.ended)
		if after != nil {
			select {
			case <-after:
			case <-ctx.Done():
			}
		}
		s.supervise(ctx)
	})
}

// publish builds the catalogue anew from the tools of all servers.
func (m *Manager) publish() {
	m.publishMu.Lock()
	defer m.publishMu.Unlock()
	var tools []schemas.Tool
	for _, s := range m.servers.Load().list {
		s.mu.Lock()
		tools = append(tools, s.tools...)
		s.mu.Unlock()
	}
	m.catalogue.Store(newCatalogue(tools))
}

// Catalogue returns the tools of all servers that are attached now. The snapshot
// never changes; a later one may differ.
func (m *Manager) Catalogue() *Catalogue { return m.catalogue.Load() }

// Status describes all configured servers, sorted by name. Beside what was left out,
// Skipped names the tools whose definition changed since they were first listed.
func (m *Manager) Status() []schemas.ServerStatus {
	servers := m.servers.Load().list
	all := make([]schemas.ServerStatus, len(servers))
	for i, s := range servers {
		all[i] = s.look().status
		all[i].Pending, all[i].Digest = s.pending()
		all[i].Skipped, all[i].Stderr = slices.Concat(all[i].Skipped, s.defs.list(s.config().Pin)), slices.Clone(all[i].Stderr)
		if live := s.conn.Load(); live != nil {
			all[i].Stderr = stderrOf(live.Conn)
		}
	}
	return all
}

// Wait returns when none of the named servers (nil: none at all) is still
// starting, whatever became of it, or with the cause of ctx. Named servers that
// are in backoff are asked to try again now, and the outcome of that one attempt is
// awaited too.
func (m *Manager) Wait(ctx context.Context, servers []string) error {
	if servers == nil {
		for _, s := range m.servers.Load().list {
			if err := s.settle(ctx, false); err != nil {
				return err
			}
		}
		return nil
	}
	var named []*server
	for _, name := range servers {
		s, err := m.server(name)
		if err != nil {
			return err
		}
		if s.look().status.State == schemas.StateBackoff {
			s.wake() // all before any is waited for
		}
		named = append(named, s)
	}
	for _, s := range named {
		if err := s.settle(ctx, true); err != nil {
			return err
		}
	}
	return nil
}

// settle waits while the server is starting, and with again set for one more attempt
// of a server in backoff.
func (s *server) settle(ctx context.Context, again bool) error {
	first := s.look()
	for now := first; ; now = s.look() {
		retrying := again && now.status.State == schemas.StateBackoff && now.attempts == first.attempts && !now.final
		if now.status.State != schemas.StateStarting && !retrying {
			return nil
		}
		select {
		case <-now.changed:
		case <-ctx.Done():
			return fmt.Errorf("wait for MCP server %q: %w", s.name, context.Cause(ctx))
		}
	}
}

func (m *Manager) server(name string) (*server, error) {
	if s, ok := m.servers.Load().byName[name]; ok {
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
	m.work.Wait()
	if m.client != nil {
		m.client.CloseIdleConnections()
	}
	return nil
}
