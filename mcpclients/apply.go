package mcpclients

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"time"

	"molar/mcpclients/transport"
)

// drainTimeout is how long calls under way on a changed or removed server may take to end.
const drainTimeout = 5 * time.Second

// Changes is what a new config changed. The names are sorted.
type Changes struct {
	// Added and Removed servers are in only one of the two configs.
	Added, Removed []string
	// Restarted servers are reached differently than before, or had given up.
	Restarted []string
	// Updated servers kept their connection: only timeouts, filters or rules changed.
	Updated []string
}

// Empty reports whether nothing changed.
func (c Changes) Empty() bool {
	return len(c.Added)+len(c.Removed)+len(c.Restarted)+len(c.Updated) == 0
}

// Apply makes servers the manager's config. It validates everything first: after an error nothing
// has changed. Servers with an unchanged config, and the calls under way on them, are not
// touched. Calls under way on a changed or removed server have 5 s to end; later calls wait for
// its successor, which starts when the old one has stopped. Apply itself waits for none of this.
//
// A server that has given up, after an error that needs a person, is started again
// even if its config is the same.
func (m *Manager) Apply(ctx context.Context, servers []transport.ServerConfig) (Changes, error) {
	if err := transport.ValidateServers(servers); err != nil {
		return Changes{}, err
	}
	m.applyMu.Lock()
	defer m.applyMu.Unlock()
	if err := context.Cause(ctx); err != nil {
		return Changes{}, err
	}
	p := m.plan(servers)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return Changes{}, fmt.Errorf("apply the config of the MCP servers: %w", transport.ErrClosed)
	}
	m.servers.Store(p.roster)
	for _, u := range p.updated {
		u.server.Judge(u.cfg)
	}
	for _, old := range p.retired {
		m.retire(old)
	}
	for _, s := range p.roster.list {
		s.Wake() // a reload may mean that a failing server was fixed
	}
	if m.launch != nil {
		for _, s := range p.started {
			m.launch(s, p.after[s])
		}
	}
	m.publish()
	m.log.Info("MCP servers were reconfigured", "added", p.Added, "removed", p.Removed,
		"restarted", p.Restarted, "updated", p.Updated)
	return p.Changes, nil
}

// A plan lists what a new config changes for the current servers.
type plan struct {
	Changes
	roster  *roster
	started []*member
	retired []*member
	after   map[*member]<-chan struct{} // closed when the predecessor has stopped
	updated []update
}

type update struct {
	server *member
	cfg    *transport.ServerConfig
}

// plan compares the new config with the current servers. It changes nothing.
func (m *Manager) plan(servers []transport.ServerConfig) plan {
	p := plan{after: map[*member]<-chan struct{}{}}
	now := m.servers.Load()
	var list []*member
	configured := map[string]bool{}
	for _, sc := range servers {
		configured[sc.Name] = true
		old := now.byName[sc.Name]
		switch {
		case old != nil && sameConnection(old.Config(), &sc) && !gaveUp(old) && !seatsChange(old, &sc):
			list = append(list, old)
			if !sameRules(old.Config(), &sc) {
				cfg := copyConfig(sc)
				p.updated = append(p.updated, update{old, &cfg})
				p.Updated = append(p.Updated, sc.Name)
			}
			continue
		case old != nil:
			p.retired = append(p.retired, old)
			p.Restarted = append(p.Restarted, sc.Name)
		default:
			p.Added = append(p.Added, sc.Name)
		}
		s := m.build(sc)
		if old != nil {
			p.after[s] = old.ended
		}
		p.started = append(p.started, s)
		list = append(list, s)
	}
	for _, old := range now.list {
		if !configured[old.Name()] {
			p.retired = append(p.retired, old)
			p.Removed = append(p.Removed, old.Name())
		}
	}
	for _, names := range [][]string{p.Added, p.Restarted, p.Updated} {
		slices.Sort(names)
	}
	p.roster = newRoster(list)
	return p
}

// gaveUp reports whether the server ended for good on its own.
func gaveUp(s *member) bool {
	now := s.Look()
	return now.GaveUp() && s.Config().Startable()
}

// sameConnection reports whether both configs reach the same server in the same way.
func sameConnection(a, b *transport.ServerConfig) bool {
	return a.Command == b.Command && slices.Equal(a.Args, b.Args) && sameMap(a.Env, b.Env) && a.Dir == b.Dir &&
		a.URL == b.URL && a.Transport() == b.Transport() && sameMap(a.Headers, b.Headers) && reflect.DeepEqual(a.OAuth, b.OAuth) &&
		a.Protocol == b.Protocol && a.Disabled == b.Disabled && a.AsPerson == b.AsPerson && a.Unset == b.Unset && sameHandler(a.InProcess, b.InProcess)
}

func sameMap(a, b map[string]string) bool {
	return len(a) == 0 && len(b) == 0 || reflect.DeepEqual(a, b)
}

// sameHandler treats handlers that cannot be compared, such as functions, as different.
func sameHandler(a, b transport.Handler) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return reflect.TypeOf(a) == reflect.TypeOf(b) && reflect.ValueOf(a).Comparable() && a == b
}

// callRules returns the part of a config that governs calls, without how the server is reached.
func callRules(s *transport.ServerConfig) transport.ServerConfig {
	return transport.ServerConfig{
		Timeout: s.Timeout, StartTimeout: s.StartTimeout, IncludeTools: orNil(s.IncludeTools), ExcludeTools: orNil(s.ExcludeTools), Rules: orNil(s.Rules),
		Pin: s.Pin, Marks: s.Marks, Always: s.Always,
	}
}

// sameRules reports whether both configs govern calls in the same way.
func sameRules(a, b *transport.ServerConfig) bool {
	return reflect.DeepEqual(callRules(a), callRules(b))
}

// orNil makes an empty list equal to an absent one.
func orNil[T any](list []T) []T {
	if len(list) == 0 {
		return nil
	}
	return list
}

// retire lets the calls under way on a server end, then stops it. m.mu is held, and the roster no
// longer holds the server, so later calls go elsewhere.
func (m *Manager) retire(s *member) {
	idle := s.Retire()
	if s.stop == nil { // it was never started
		close(s.ended)
		return
	}
	m.work.Go(func() {
		timer := time.NewTimer(drainTimeout)
		defer timer.Stop()
		select {
		case <-idle:
		case <-timer.C:
		case <-s.ended:
		}
		s.stop()
	})
}
