package host

import (
	"context"
	"reflect"
	"slices"
	"sync"

	"molar/internal/config"
	"molar/internal/store"
	"molar/mcpclients/transport"
)

// added holds the stored form of the servers that an operator added while the host ran.
type added struct {
	mu   sync.Mutex
	list []store.AddedServer
}

// loadAdded reads which servers were added.
func (h *Host) loadAdded(ctx context.Context) error {
	list, err := h.DB.AddedServers(ctx)
	h.added.mu.Lock()
	defer h.added.mu.Unlock()
	if err == nil {
		h.added.list = list
	}
	return err
}

// RefreshAdded rereads them, and reports whether another replica changed them.
func (h *Host) RefreshAdded(ctx context.Context) (changed bool, err error) {
	list, err := h.DB.AddedServers(ctx)
	if err != nil {
		return false, err
	}
	h.added.mu.Lock()
	defer h.added.mu.Unlock()
	changed = !reflect.DeepEqual(list, h.added.list)
	h.added.list = list
	return changed, nil
}

// Added returns the names of the added servers that the config does not hide. A server of the
// config hides an added one with its name.
func (h *Host) Added(cfg *config.Config) []string {
	var names []string
	for _, s := range h.addedConfigs(cfg) {
		names = append(names, s.Name)
	}
	return names
}

// AddedNames returns them including the hidden ones.
func (h *Host) AddedNames() []string {
	h.added.mu.Lock()
	defer h.added.mu.Unlock()
	names := make([]string, 0, len(h.added.list))
	for _, a := range h.added.list {
		names = append(names, a.Name)
	}
	return names
}

func (h *Host) addedConfigs(cfg *config.Config) []transport.ServerConfig {
	h.added.mu.Lock()
	defer h.added.mu.Unlock()
	var all []transport.ServerConfig
	for _, a := range h.added.list {
		if _, named := cfg.MCPServers.Get(a.Name); named {
			h.Log.Warn("an added server is not attached: the config file has one of its name", "server", a.Name)
			continue
		}
		all = append(all, transport.ServerConfig{Name: a.Name, URL: a.URL, Type: a.Type, Headers: a.Headers, Pin: true})
	}
	return all
}

// AddServer stores a server. It is attached once its config is applied.
func (h *Host) AddServer(ctx context.Context, a store.AddedServer) error {
	if err := h.DB.AddServer(ctx, a); err != nil {
		return err
	}
	return h.loadAdded(ctx)
}

// RemoveServer deletes an added server; ok is false if there is none with that name.
func (h *Host) RemoveServer(ctx context.Context, name string) (ok bool, err error) {
	if ok, err = h.DB.RemoveServer(ctx, name); err != nil {
		return ok, err
	}
	return ok, h.loadAdded(ctx)
}

// IsBundled reports whether a name is one of the host's own servers.
func (h *Host) IsBundled(name string) bool {
	return slices.ContainsFunc(h.bundled, func(s transport.ServerConfig) bool { return s.Name == name })
}
