package serve

import (
	"context"
	"net"
	"net/http"
	"slices"
	"time"

	"molar/internal/cli"
	"molar/internal/host"
	"molar/internal/httpguard"
	"molar/schemas"
	"molar/web"
	"molar/web/wire"
)

// handler builds the routes for the listen address.
func (p *port) handler(ctx context.Context, addr net.Addr) (http.Handler, error) {
	cfg, err := p.webConfig(ctx, addr)
	if err != nil {
		return nil, err
	}
	return web.New(cfg)
}

func (p *port) webConfig(ctx context.Context, addr net.Addr) (web.Config, error) {
	hosts, err := httpguard.Hosts(addr.String(), p.Config.Hosts()...)
	if err != nil {
		return web.Config{}, err
	}
	guard, err := httpguard.New(httpguard.Config{
		Hosts: hosts, Open: []string{"/health", "/ready"}, Proven: p.scrapes, MaxBody: int64(p.Config.Limits.Body), Setting: wire.BodySetting,
		Files: []string{"/v1/chat/completions", "/chat", "/v1/responses"}, Forms: []string{"/login", "/login/backchannel"},
	})
	if err != nil {
		return web.Config{}, err
	}
	who, err := p.webAccess()
	if err != nil {
		return web.Config{}, err
	}
	logins, err := p.OpenPersonLogins()
	if err != nil {
		return web.Config{}, err
	}
	visitors, err := p.visitors(ctx)
	if err != nil {
		return web.Config{}, err
	}
	traces := host.TraceStore{DB: p.DB, Writer: p.Traces, Memory: p.Memory}
	cfg := web.Config{
		Agent:         p.Runner(),
		Notice:        p.Agent.Notice,
		Models:        p.models,
		Searches:      p.Agent.Searches,
		Knowledge:     host.Knowledge{Manager: p.MCP},
		Conversations: host.Conversations{Client: p.Memory, Traces: traces},
		Files:         host.Conversations{Client: p.Memory},
		Tools:         host.Catalogue{Manager: p.MCP},
		Servers:       p.Host,
		Traces:        traces,
		Grants:        p.DB,
		Audit:         p.DB,
		People:        host.People{DB: p.DB, Memory: p.Memory, Traces: traces, Remote: p.Config.Memory.URL != ""},
		Held:          p.DB,
		Told:          p.Told,
		Ruling:        p.Ruling,
		Usage:         p.DB,
		Feedback:      traces,
		Review:        p.review(traces),
		Ready:         p.Ready,
		Reload: func(ctx context.Context) (web.Reloaded, error) {
			return p.files.reload(ctx, "a request")
		},
		Keys:      p.DB,
		Responses: p.DB,
		Imports:   imports{p.Memory},
		Secret: func(ctx context.Context) ([]byte, error) {
			return p.DB.Secret(ctx, "responses")
		},
		Turns:       p.turns,
		Sharing:     p.sharing,
		Journal:     p.Journal,
		Operations:  p.operations(),
		Hints:       p.hints(),
		Telemetry:   p.Telemetry,
		MaxMessages: p.Config.Limits.Messages,
		MaxBody:     int64(p.Config.Limits.Body),
		Guard:       guard,
		MayChoose:   p.Config.MayChoose,
		Public:      visitors,
		Access:      who,
		Logger:      p.Log,
		Version:     cli.Version(),
	}
	if logins != nil { // a nil pointer is no nil interface
		cfg.Logins = logins
	}
	if p.Handovers != nil {
		cfg.Handovers = p.Handovers
	}
	return cfg, nil
}

// scrapes reports whether a request is for metrics, with a key that will be checked: a scraper
// uses a pod's address, which is in no configuration.
func (p *port) scrapes(r *http.Request) bool {
	return r.URL.Path == "/metrics" && p.access.Ring().On() && r.Header.Get("Authorization") != ""
}

// models returns the assistants, the default one first: clients take the first.
func (p *port) models() []schemas.AssistantInfo {
	all := p.Agent.Assistants()
	for i := range all {
		a, _ := p.Config.Assistants.Get(all[i].Name)
		if all[i].Providers, all[i].Model = p.Config.LLM.Provider, a.Model; a.Provider != "" {
			all[i].Providers = []string{a.Provider}
		}
	}
	at := slices.IndexFunc(all, func(a schemas.AssistantInfo) bool { return a.Name == p.Config.Default })
	return slices.Concat(all[at:at+1], all[:at], all[at+1:])
}

// webAccess returns who may use the host's port.
func (p *port) webAccess() (web.Access, error) {
	clients, err := httpguard.NewAddresses(p.Config.TrustedProxies)
	if err != nil {
		return web.Access{}, err
	}
	perAddress, err := httpguard.NewLimiter(addressRate, addressBurst, nil)
	if err != nil {
		return web.Access{}, err
	}
	acc := web.Access{PublicURL: p.Config.PublicURL, Keys: p.access.Ring(), Person: p.Config.Identity.Header, Groups: p.Config.Identity.GroupsHeader, Rights: p.access.Rights, SignIn: p.access.SignIn, SignInKey: p.access.SignInKey, SignOut: p.access.SignOut, Reread: p.access.Reread, Clients: clients, PerAddress: perAddress}
	p.addPeople(&acc)
	if n := p.Config.Limits.TurnsPerMinute; n > 0 {
		const minute = 60.0
		acc.Turns, err = httpguard.NewLimiter(float64(n)/minute, n, nil)
		if p.Live != nil {
			acc.SharedTurns = func(ctx context.Context, key string) (time.Duration, error) {
				return p.Live.Take(ctx, key, float64(n)/minute, n)
			}
		}
	}
	return acc, err
}
