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
	// decisions holds the switches and pins.
	decisions *InForce
	log       *slog.Logger
	client    *http.Client // set only if the manager owns it

	catalogue atomic.Pointer[Catalogue]
	known     atomic.Pointer[Catalogue]
	changes   atomic.Int64 // of what the catalogues are made of
	publishMu sync.Mutex   // serializes rebuilds of the catalogues, and guards published
	published int64        // how many of the changes they hold

	applyMu sync.Mutex // serializes changes of the config

	mu     sync.Mutex                             // guards the fields below and the growth of work
	launch func(s *member, after <-chan struct{}) // nil until Start
	closed bool
	stop   context.CancelFunc
	work   sync.WaitGroup // supervisors and retiring servers
}

// A member is a configured server and its supervisor.
type member struct {
	*server
	stop  context.CancelFunc // ends the supervisor; set when it is launched
	ended chan struct{}      // closed when the supervisor has ended, or if none runs
}

// A roster is the immutable set of configured servers; a new config brings a new one.
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
	if cfg.Logins != nil || cfg.People.Logins != nil {
		transport := http.RoundTripper(nil)
		if cfg.HTTPClient != nil {
			transport = cfg.HTTPClient.Transport
		}
		var err error
		if logins, err = oauth.NewClient(transport, nil); err != nil {
			return nil, err
		}
	}
	m := &Manager{log: cfg.Logger, decisions: newInForce(cfg.Decisions, cfg.Keeper)}
	if m.log == nil {
		m.log = slog.New(slog.DiscardHandler)
	}
	client := cfg.HTTPClient
	if client == nil {
		client = transport.NewHTTPClient()
		m.client = client
	}
	shared := settings{
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
		People:       cfg.People,
		Protocols:    cfg.Protocols,
		Once:         cfg.Once,
		Log:          m.log,
		Wrap:         cfg.Wrap,
		Publish:      m.publish,
	}
	m.build = func(sc transport.ServerConfig) *member {
		return &member{server: newServer(copyConfig(sc), shared), ended: make(chan struct{})}
	}
	var list []*member
	for _, sc := range cfg.Servers {
		list = append(list, m.build(sc))
	}
	m.servers.Store(newRoster(list))
	m.publish()
	return m, nil
}

// copyConfig shields the config from later changes to the caller's maps and slices.
func copyConfig(s transport.ServerConfig) transport.ServerConfig {
	s.Args, s.Env, s.Headers = slices.Clone(s.Args), maps.Clone(s.Env), maps.Clone(s.Headers)
	s.IncludeTools, s.ExcludeTools = slices.Clone(s.IncludeTools), slices.Clone(s.ExcludeTools)
	s.Rules = slices.Clone(s.Rules)
	s.OAuth.Scopes = slices.Clone(s.OAuth.Scopes)
	return s
}

// Start begins to attach all servers in parallel and returns at once. They are detached when ctx
// ends or on Close. A second Start does nothing.
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

// supervise starts a server's supervisor once after is closed; nil means now. m.mu is held.
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

// publish makes the catalogues hold what is on the shelves. Of several calls at once one does the work
// for all that came before it began.
func (m *Manager) publish() {
	mine := m.changes.Add(1)
	m.publishMu.Lock()
	defer m.publishMu.Unlock()
	if m.published >= mine {
		return
	}
	m.published = m.changes.Load()
	servers := m.servers.Load().list
	parts, attached := make([]*part, len(servers)), make(map[string]bool, len(servers))
	for i, s := range servers {
		tools, here := s.Shelf().now()
		parts[i], attached[s.Name()] = s.orConnect(tools), here
	}
	all, before := m.known.Load(), m.known.Load()
	if before == nil || !slices.Equal(before.parts, parts) {
		all = merge(parts)
	}
	if before != nil && all != before {
		for _, note := range all.newlyAlike(before) {
			m.log.Warn("tools of two servers can be mistaken for each other", "tools", note)
		}
	}
	m.known.Store(all)
	m.catalogue.Store(all.of(attached))
}

// Catalogue returns the tools of all servers that are attached now, as an immutable snapshot.
func (m *Manager) Catalogue() *Catalogue { return m.catalogue.Load() }

// Known returns the tools that were listed last by the attached servers and by lost servers that
// are being retried. A call to a lost server's tool waits for one attempt to reach it.
func (m *Manager) Known() *Catalogue { return m.known.Load() }

// Starting returns the names of the servers in their first start: they were never ready, and
// their tools are unknown.
func (m *Manager) Starting() []string { return m.named((*look).FirstStart) }

// Lost returns the names of the servers that were ready, are not now, and are being retried.
func (m *Manager) Lost() []string { return m.named((*look).Lost) }

func (m *Manager) named(is func(*look) bool) []string {
	var names []string
	for _, s := range m.servers.Load().list {
		if now := s.Look(); is(&now) {
			names = append(names, s.Name())
		}
	}
	return names
}

// WaitStarting returns when none of the named servers (nil: all) is in its first start any more,
// whatever the outcome, or with the cause of ctx. It triggers no attempt and does not wait for
// lost servers.
func (m *Manager) WaitStarting(ctx context.Context, servers []string) error {
	for _, s := range m.servers.Load().list {
		if servers != nil && !slices.Contains(servers, s.Name()) {
			continue
		}
		if err := s.WaitWhile(ctx, (*look).FirstStart); err != nil {
			return err
		}
	}
	return nil
}

// Instructions returns the servers' usage instructions by server name: at most 1 KiB each, for
// servers whose tools are in [Manager.Known]. Instructions that changed are left out until they are approved. The texts are the servers' and untrusted.
func (m *Manager) Instructions() map[string]string {
	all := map[string]string{}
	for _, s := range m.servers.Load().list {
		if now := s.Look(); now.Known() && s.Shelf().Instructions() != "" {
			all[s.Name()] = s.Shelf().Instructions()
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
		all[i].Alike = m.Known().Alike(s.Name())
	}
	return all
}

// States is [Manager.Status] without what is gathered for people: the last lines of standard error,
// pending approvals and the like. Each turn asks for it.
func (m *Manager) States() []schemas.ServerStatus {
	servers := m.servers.Load().list
	all := make([]schemas.ServerStatus, len(servers))
	for i, s := range servers {
		all[i] = s.Look().ServerStatus
		all[i].Tools = s.Shelf().Count()
	}
	return all
}

// Wait returns when none of the named servers (nil: all) is starting any more, whatever the
// outcome, or with the cause of ctx. Named servers in backoff retry at once, and Wait includes
// that one attempt.
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
			s.Wake() // wake all before waiting for any
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

// Close detaches all servers in parallel, ends their processes and waits for all goroutines of
// the manager. A process that does not exit takes up to 5 s.
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
