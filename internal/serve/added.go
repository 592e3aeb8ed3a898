package serve

import (
	"context"
	"fmt"
	"net/url"

	"molar/internal/store"
	"molar/mcpclients/transport"
	"molar/web"
)

// addServer attaches a remote server and stores it, in addition to those of the config file.
func (p *port) addServer(ctx context.Context, s web.NewServer) (web.AddedServer, error) {
	at, err := url.Parse(s.URL)
	if err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "" || at.User != nil {
		return web.AddedServer{}, fmt.Errorf("%w: url must be an address such as https://mcp.example.org/mcp, without a password in it", web.ErrInvalid)
	}
	if s.Name == "" {
		s.Name = nameOf(at)
	}
	a := store.AddedServer{Name: s.Name, URL: s.URL, Type: s.Type, Headers: s.Headers}
	if err := transport.ValidateServers([]transport.ServerConfig{{Name: a.Name, URL: a.URL, Type: a.Type, Headers: a.Headers}}); err != nil {
		return web.AddedServer{}, fmt.Errorf("%w: %w", web.ErrInvalid, err)
	}
	p.files.mu.Lock()
	defer p.files.mu.Unlock()
	for _, known := range p.MCP.Status() {
		if known.Name == a.Name {
			return web.AddedServer{}, fmt.Errorf("%w: there is a server %q already; choose another name", web.ErrConflict, a.Name)
		}
	}
	if err := p.AddServer(ctx, a); err != nil {
		return web.AddedServer{}, err
	}
	p.Log.Info("a server was added", "server", a.Name, "host", at.Host)
	return web.AddedServer{Name: a.Name, Offer: p.offer()}, p.files.reapply(ctx)
}

// removeServer detaches an added server, and deletes it.
func (p *port) removeServer(ctx context.Context, name string) error {
	p.files.mu.Lock()
	defer p.files.mu.Unlock()
	ok, err := p.RemoveServer(ctx, name)
	switch {
	case err != nil:
		return err
	case !ok && (p.IsBundled(name) || p.isOfFile(name)):
		return fmt.Errorf("%w: server %q was not added here; remove it from the config file", web.ErrConflict, name)
	case !ok:
		return fmt.Errorf("%w: there is no server %q", web.ErrUnknown, name)
	}
	p.Log.Info("an added server was removed", "server", name)
	return p.files.reapply(ctx)
}

func (p *port) isOfFile(name string) bool {
	_, ok := p.files.last().MCPServers.Get(name)
	return ok
}
