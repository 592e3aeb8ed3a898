package mcpclients

import (
	"log/slog"
	"slices"
	"sync"

	"molar/mcpclients/transport"
	"molar/schemas"
)

// A Shelf holds what one server offers: its tools as it listed them last, judged by the
// config and by what people decided. Those of a server that is away stay on it.
type Shelf struct {
	ShelfConfig
	seen definitions

	mu    sync.Mutex
	infos []schemas.ToolInfo // as listed, before the filters
	tools []schemas.Tool
	held  map[string]string // why tools are withheld
	away  bool
}

// A ShelfConfig is what [NewShelf] needs.
type ShelfConfig struct {
	Server string
	// Config returns the config of the server as it is now.
	Config    func() *transport.ServerConfig
	Decisions *InForce
	Log       *slog.Logger
	// Publish is called after the tools have changed.
	Publish func()
}

// NewShelf returns an empty shelf.
func NewShelf(cfg ShelfConfig) *Shelf { return &Shelf{ShelfConfig: cfg} }

// Put replaces the tools by those of a server that is there.
func (s *Shelf) Put(infos []schemas.ToolInfo) {
	// A pinned server's changes are withheld, and its status says so.
	if changed := s.seen.compare(infos); changed != nil && !s.Config().Pin {
		s.Log.Warn("MCP server changed the definition of its tools", "tools", changed)
	}
	s.trustFirst(infos)
	s.mu.Lock()
	s.infos, s.away = infos, false
	s.judge() // with the listing, so that no call finds the new tools unjudged
	s.mu.Unlock()
	s.Publish()
}

// Leave keeps the tools of a server that went away as those of a server that may be
// back.
func (s *Shelf) Leave() {
	s.mu.Lock()
	s.away = true
	s.mu.Unlock()
	s.Publish()
}

// Clear takes all tools away. Why some were withheld is still known.
func (s *Shelf) Clear() {
	s.mu.Lock()
	s.infos, s.tools = nil, nil
	s.mu.Unlock()
	s.Publish()
}

// Judge applies the config and the decisions, which have changed, to the tools that were
// listed.
func (s *Shelf) Judge() {
	s.mu.Lock()
	listed := s.infos
	s.mu.Unlock()
	s.trustFirst(listed)
	s.mu.Lock()
	s.judge()
	s.mu.Unlock()
	s.Publish()
}

// trustFirst pins what a pinned server lists for the first time. It may write to the
// store, so it is called without the lock.
func (s *Shelf) trustFirst(infos []schemas.ToolInfo) {
	if s.Config().Pin {
		s.Decisions.trustFirst(s.Server, infos, s.Log)
	}
}

// judge is called with the lock held.
func (s *Shelf) judge() {
	cfg := s.Config()
	s.tools = make([]schemas.Tool, 0, len(s.infos))
	held := map[string]string{}
	for _, info := range s.infos {
		if !cfg.Includes(info.ToolName) {
			continue
		}
		why, off := s.Decisions.withheld(info, cfg.Pin)
		if why != "" {
			held[info.ToolName] = why
		}
		s.tools = append(s.tools, schemas.Tool{ToolInfo: info, Rules: cfg.Rule(info.ToolName), Withheld: why, Off: off})
	}
	if len(s.infos) > 0 {
		s.held = held
	}
}

// Look returns the tools, and whether their server is there.
func (s *Shelf) Look() (tools []schemas.Tool, here bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tools, !s.away
}

// Count is how many tools can be called now.
func (s *Shelf) Count() int {
	tools, here := s.Look()
	if !here {
		return 0
	}
	return len(tools)
}

// Listed returns the tools of a server that is there, before the filters.
func (s *Shelf) Listed() []schemas.ToolInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away {
		return nil
	}
	return slices.Clone(s.infos)
}

// Pending returns which tools await approval, and what is new about them.
func (s *Shelf) Pending() (changes []schemas.ToolChange, digest string) {
	if !s.Config().Pin {
		return nil, ""
	}
	return s.Decisions.pending(s.Listed())
}

// Withheld returns why a tool must not be called, or "". While the server is away, what
// it listed last counts.
func (s *Shelf) Withheld(tool string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held[tool]
}

// Notes returns which definitions changed, oldest first.
func (s *Shelf) Notes() []string { return s.seen.list(s.Config().Pin) }
