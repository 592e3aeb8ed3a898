package serve

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"molar/agent"
	"molar/agent/answer"
	"molar/internal/access"
	"molar/internal/cli"
	"molar/internal/config"
	"molar/internal/host"
	"molar/providers/chain"
	"molar/schemas"
	"molar/web/turns"
)

// Times of serve.
const (
	// serveAttachWait is how long a turn waits for servers that are starting.
	serveAttachWait = 5 * time.Second
	// saveTime is how long cancelled turns may take to save their answers.
	saveTime = 5 * time.Second
	// announceWait is how long the printed overview waits for servers.
	announceWait = 3 * time.Second
)

// A Config configures a host that listens.
type Config struct {
	CLI *cli.CLI
	// Load reads the settings, at start and at every reload.
	Load func() (*config.Config, error)
	// AsIs refuses a database whose schema is older than this program, instead of migrating it.
	AsIs bool
	// MakeTest makes a test of a turn for those who review turns; with nil they cannot.
	MakeTest func(ctx context.Context, h *host.Host, turnID string) (schemas.TurnTest, error)
	// RunTest asks the questions of such a test again, as somebody, and returns the trace of the last turn.
	// It is required with MakeTest.
	RunTest func(ctx context.Context, h *host.Host, turnID string, as agent.Turn) (schemas.TestRun, answer.Trace, error)
}

// A port is a host that listens.
type port struct {
	*host.Host
	cli    *cli.CLI
	access *access.Access
	// signIn signs people in at an identity provider; nil if there is none.
	signIn *access.SignIn
	// turns continue without their clients; they are drained at the end.
	turns *turns.Set
	// sharing shows them to other replicas; nil without a shared database.
	sharing *turns.Sharing
	files   *reloader
	// tests are the functions of the config about tests.
	tests Config
}

// Serve listens, answers until ctx ends, and then drains.
func Serve(ctx context.Context, with Config) (err error) {
	cfg, err := with.Load()
	if err != nil {
		return err
	}
	log, err := with.CLI.Logger(cfg.Telemetry, slog.LevelInfo)
	if err != nil {
		return err
	}
	if err := access.CheckListen(ctx, cfg, cfg.Listen, cfg.Database()); err != nil {
		return err
	}
	certificate, err := loadTLS(cfg, log)
	if err != nil {
		return err
	}
	listener, err := listen(ctx, cfg.Listen)
	if err != nil {
		return err
	}
	defer listener.Close()
	h, err := host.Open(ctx, cfg, log, host.Options{AttachWait: serveAttachWait, Summaries: true, Metrics: true, Env: with.CLI.Env, Elicit: host.AskNobody, AsIs: with.AsIs})
	if err != nil {
		return err
	}
	defer h.Close()
	p, err := newPort(ctx, h, with)
	if err != nil {
		return err
	}
	return p.run(ctx, listener, certificate)
}

// newPort adds keys, detached turns and the reload of the file to a host.
func newPort(ctx context.Context, h *host.Host, with Config) (*port, error) {
	keys, err := access.Open(ctx, access.Config{
		Store: h.DB, Keys: h.Config.APIKeys, Groups: h.Config.Groups, Sessions: true, Logger: h.Log,
		Closed: access.ClosesPages(h.Config),
	})
	if err != nil {
		return nil, err
	}
	p := &port{Host: h, cli: with.CLI, access: keys, turns: turns.NewSet(h.Log, nil), tests: with}
	p.files = &reloader{
		load: with.Load, keys: keys.UseFile, servers: h.ServerConfigs, to: h.MCP, log: h.Log, running: h.Config, path: p.configFile(),
		applied: make(chan struct{}, 1),
	}
	if p.signIn, err = newSignIn(ctx, h, keys); err != nil {
		return nil, err
	}
	if h.Live != nil {
		p.sharing = turns.NewSharing(h.Live, h.Journal.OnNews, h.Log)
	}
	return p, nil
}

// run answers on the listener until ctx ends, and then drains.
func (p *port) run(ctx context.Context, listener net.Listener, certificate *tls.Config) error {
	ctx, end := context.WithCancel(ctx)
	var background sync.WaitGroup
	defer background.Wait()
	defer p.share(ctx)()
	defer p.cut(ctx)
	defer end()
	handler, err := p.handler(ctx, listener.Addr())
	if err != nil {
		return err
	}
	scrapers, err := p.listenMetrics(ctx)
	if err != nil {
		return err
	}
	requests, cancelTurns := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancelTurns(turns.ErrShuttingDown)
	server := newServer(requests, handler, p.Log)
	server.TLSConfig = certificate
	ended := make(chan error, 1)
	background.Go(func() { ended <- serveOn(server, bound(listener, p.Log)) })
	p.cli.Say("molar listens on %s://%s", p.Config.Scheme(), listener.Addr())
	defer p.serveMetrics(ctx, scrapers)()
	warnPlain(p.Config, p.Config.Listen, p.Log)
	p.sayLink(ctx, listener.Addr())
	p.sayProxied()
	for _, work := range []func(context.Context){
		func(ctx context.Context) { p.access.Watch(ctx, func() { p.sayLink(ctx, listener.Addr()) }) },
		func(ctx context.Context) { p.announce(ctx, listener.Addr()) },
		p.Warm,
		p.watchIdentity,
		p.files.watch,
		p.watchDecisions,
		p.retain,
		func(ctx context.Context) { p.files.hangups(ctx, p.cli.Stdin, end) },
	} {
		background.Go(func() { work(ctx) })
	}
	select {
	case err := <-ended:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	return p.shutDown(server, cancelTurns)
}

// share shows turns to other replicas until stop is called, after the last of them has ended.
func (p *port) share(ctx context.Context) (stop func()) {
	if p.sharing == nil {
		return func() {}
	}
	return background(context.WithoutCancel(ctx), p.sharing.Run)
}

// cut cancels what still runs once ctx has ended.
func (p *port) cut(ctx context.Context) {
	p.sharing.Leave()
	p.turns.Drain(ctx)
}

// shutDown shuts the port down: first /ready reports it, then no new turn is accepted and those that
// wait for a person's decision end, then running ones are cancelled.
func (p *port) shutDown(server *http.Server, cancelTurns context.CancelCauseFunc) error {
	server.SetKeepAlivesEnabled(false) // the next request must come through the load balancer
	if delay := p.Config.Shutdown.Delay; delay > 0 {
		p.Gate.Announce()
		p.Log.Info("shutting down: not ready, but still taking turns", "for", delay)
		<-time.After(delay) // a second signal ends the process
	}
	drain := p.Config.Shutdown.Drain
	left, done := context.WithTimeout(context.Background(), drain)
	defer done()
	p.Log.Info("shutting down: waiting for open answers", "at_most", drain)
	p.sharing.Leave()
	p.turns.PauseWaiting()
	p.Gate.Shut(left)
	return closePort(left, server, func() {
		p.turns.Drain(left)
		cancelTurns(turns.ErrShuttingDown)
		last, done := context.WithTimeout(context.Background(), saveTime)
		defer done()
		p.Gate.Shut(last)
	})
}

// announce prints which model answers and why, what is attached, and where to start.
func (p *port) announce(ctx context.Context, addr net.Addr) {
	route, err := p.Chain.Pick(ctx, chain.Want{})
	if err != nil {
		p.cli.Say("provider: none (%v)", err)
	} else {
		name := route.Provider.Name()
		if route.Model != "" {
			name += ", model " + route.Model
		}
		p.cli.Say("provider: %s (%s)", name, route.Why)
	}
	wait, cancel := context.WithTimeout(ctx, announceWait)
	defer cancel()
	_ = p.MCP.Wait(wait, nil) // servers still starting are printed as such
	p.cli.Say("assistants: %s (default %s)", strings.Join(p.Config.Assistants.Names(), ", "), p.Config.Default)
	for _, s := range p.Status() {
		p.cli.Say("server: %s", host.ServerLine(s))
		for _, line := range s.Visitors {
			p.Log.Warn("a tool is not offered to the visitors of public", "server", s.Name, "tool", line)
		}
	}
	if !p.access.Ring().On() { // otherwise its link was printed
		p.cli.Say("chat page: %s", p.Config.Address(addr.String()))
	}
}

// sayLink prints a link that signs a browser in, while keys are on.
func (p *port) sayLink(ctx context.Context, addr net.Addr) {
	if !p.access.Ring().On() {
		return
	}
	token, err := p.access.NewLink(ctx)
	if err != nil {
		p.Log.Warn("no link could be made that signs a browser in; make one with molar keys link NAME", "error", err)
		return
	}
	p.cli.Say("open %s (works once, for ten minutes)", LinkAddress(p.Config, addr.String(), token))
}

// LinkAddress returns the address that signs a browser in with a one-time token, at a host that listens on
// an address.
func LinkAddress(cfg *config.Config, listen, token string) string {
	return cfg.Address(listen) + "/?token=" + token
}

// sayProxied tells an operator who relied on loopback why a key is required.
func (p *port) sayProxied() {
	if proxied := p.Config.ProxySetting(); proxied != "" && !p.Config.Identity.SignsIn() {
		p.cli.Say("%s allows access through a proxy: every request requires an API key (molar keys create NAME), the session of that link, "+
			"or a person whom the proxy names (identity.header)", proxied)
	}
}
