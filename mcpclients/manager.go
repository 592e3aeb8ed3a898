package mcpclients

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"

	"molar/mcpclients/oauth"
	"molar/mcpclients/transport"
	"molar/schemas"
)

// A Manager holds the connections to all configured servers.
type Manager struct {
	servers atomic.Pointer[roster]
	build   func(transport.ServerConfig) *member
	// decisions are the switches and pins.
	decisions *InForce
	log       *slog.Logger
	client    *http.Client // set only when it is the manager's own

	catalogue atomic.Pointer[Catalogue]
	known     atomic.Pointer[Catalogue]
	publishMu sync.Mutex // one rebuild of the catalogue at a time

	applyMu sync.Mutex // one change of the config at a time

	mu     sync.Mutex                             // guards the fields below and the growth of work
	launch func(s *member, after <-chan struct{}) // nil until Start
	closed bool
	stop   context.CancelFunc
	work   sync.WaitGroup // supervisors, and servers that are being retired
}

// A member is a configured server under its supervisor.
type member struct {
	*Server
	stop  context.CancelFunc // ends the supervisor; set when it is launched
	ended chan struct{}      // the supervisor has ended, or there is none
}

// A roster is the set of configured servers. It never changes; a new config brings a
// new one.
type roster struct {
	list   []*member // sorted by name
	byName map[string]*member
}

func newRoster(list []*member) *roster {
	r := &roster{list: list, byName: make(map[string]*member, len(list))}
	slices.SortFunc(list, func(a, b *member) int { return cmp.Compare(a.Name(), b.Name()) })
	for _, s := range list {
		r.byName[s.Name()] = s
	}
	return r
}

// New checks the config and returns a manager that is not started yet. The error
// joins every fault, each with its place in the config.
func New(cfg Config) (*Manager, error) {
	if err := transport.ValidateServers(cfg.Servers); err != nil {
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
	m := &Manager{log: cfg.Logger, decisions: NewInForce(cfg.Decisions, cfg.Keeper)}
	if m.log == nil {
		m.log = slog.New(slog.DiscardHandler)
	}
	client := cfg.HTTPClient
	if client == nil {
		client = transport.NewHTTPClient()
		m.client = client
	}
	shared := Settings{
		Client: transport.Implementation{
			Name: cmp.Or(cfg.Client.Name, "molar"), Version: cmp.Or(cfg.Client.Version, "0"),
		},
		HTTP:         client,
		StartTimeout: DefaultStartTimeout,
		ListTimeout:  DefaultListTimeout,
		MaxResult:    DefaultMaxResult,
		Elicit:       cfg.Elicit,
		Decisions:    m.decisions,
		Telemetry:    cfg.Telemetry,
		Logins:       cfg.Logins,
		OAuth:        logins,
		Log:          m.log,
		Wrap:         cfg.Wrap,
		Publish:      m.publish,
	}
	m.build = func(sc transport.ServerConfig) *member {
		return &member{Server: NewServer(copyConfig(sc), shared), ended: make(chan struct{})}
	}
	var list []*member
	for _, sc := range cfg.Servers {
		list = append(list, m.build(sc))
	}
	m.servers.Store(newRoster(list))
	m.publish()
	return m, nil
}

// copyConfig keeps later changes of the caller's maps and slices away.
func copyConfig(s transport.ServerConfig) transport.ServerConfig {
	s.Args, s.Env, s.Headers = slices.Clone(s.Args), maps.Clone(s.Env), maps.Clone(s.Headers)
	s.IncludeTools, s.ExcludeTools = slices.Clone(s.IncludeTools), slices.Clone(s.ExcludeTools)
	s.Rules = slices.Clone(s.Rules)
	s.OAuth.Scopes = slices.Clone(s.OAuth.Scopes)
	return s
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
	m.launch = func(s *member, after <-chan struct{}) { m.supervise(ctx, s, after) }
	for _, s := range m.servers.Load().list {
		m.launch(s, nil)
	}
}

// supervise starts the supervisor of a server once after is closed; nil means now.
// m.mu is held.
func (m *Manager) supervise(ctx context.Context, s *member, after <-chan struct{}) {
	ctx, s.stop = context.WithCancel(ctx)
	if !s.Config().Startable() {
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
		s.Run(ctx)
	})
}

// publish builds the catalogues anew from the tools of all servers.
func (m *Manager) publish() {
	m.publishMu.Lock()
	defer m.publishMu.Unlock()
	var known []schemas.Tool
	here := map[string]bool{}
	for _, s := range m.servers.Load().list {
		tools, there := s.Shelf().Look()
		known, here[s.Name()] = append(known, tools...), there
	}
	all := NewCatalogue(known)
	m.known.Store(all)
	m.catalogue.Store(all.Of(here))
}

// Catalogue returns the tools of all servers that are attached now. The snapshot
// never changes; a later one may differ.
func (m *Manager) Catalogue() *Catalogue { return m.catalogue.Load() }

// Known returns the tools of the attached servers and of those that were attached and
// are tried again, as they listed them last. A call to such a tool waits for one attempt
// to reach its server.
func (m *Manager) Known() *Catalogue { return m.known.Load() }

// Starting names the servers that are in their first start: they were never ready, and
// nobody knows their tools yet.
func (m *Manager) Starting() []string { return m.named((*Look).FirstStart) }

// Lost names the servers that were ready, are not now, and are tried again.
func (m *Manager) Lost() []string { return m.named((*Look).Lost) }

func (m *Manager) named(is func(*Look) bool) []string {
	var names []string
	for _, s := range m.servers.Load().list {
		if now := s.Look(); is(&now) {
			names = append(names, s.Name())
		}
	}
	return names
}

// WaitStarting returns when none of the named servers (nil: none at all) is in its first
// start, whatever became of it, or with the cause of ctx. It hastens nothing and waits
// for no server that was lost.
func (m *Manager) WaitStarting(ctx context.Context, servers []string) error {
	for _, s := range m.servers.Load().list {
		if servers != nil && !slices.Contains(servers, s.Name()) {
			continue
		}
		if err := s.WaitWhile(ctx, (*Look).FirstStart); err != nil {
			return err
		}
	}
	return nil
}

// Instructions returns what servers said of how their tools are used, by name: at most 1
// KiB each, of those whose tools are in [Manager.Known]. The texts are the servers', and
// not to be trusted.
func (m *Manager) Instructions() map[string]string {
	all := map[string]string{}
	for _, s := range m.servers.Load().list {
		if now := s.Look(); now.Instructions() != "" {
			all[s.Name()] = m.Known().Own(s.Name(), now.Instructions())
		}
	}
	return all
}

// Status describes all configured servers, sorted by name.
func (m *Manager) Status() []schemas.ServerStatus {
	servers := m.servers.Load().list
	all := make([]schemas.ServerStatus, len(servers))
	for i, s := range servers {
		all[i] = s.Status()
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
			if err := s.Settle(ctx, false); err != nil {
				return err
			}
		}
		return nil
	}
	var named []*member
	for _, name := range servers {
		s, err := m.server(name)
		if err != nil {
			return err
		}
		if now := s.Look(); now.State == schemas.StateBackoff {
			s.Wake() // all before any is waited for
		}
		named = append(named, s)
	}
	for _, s := range named {
		if err := s.Settle(ctx, true); err != nil {
			return err
		}
	}
	return nil
}

func (m *Manager) server(name string) (*member, error) {
	if s, ok := m.servers.Load().byName[name]; ok {
		return s, nil
	}
	return nil, fmt.Errorf("%w %q: add it under mcpServers", transport.ErrUnknownServer, name)
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
