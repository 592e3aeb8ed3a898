package mcpclients

import (
	"log/slog"
	"slices"
	"sync"

	"molar/mcpclients/transport"
	"molar/schemas"
)

// A Shelf holds a server's tools as it listed them last, judged by the config and by people's
// decisions. It keeps the tools of a lost server.
type Shelf struct {
	ShelfConfig
	definitions definitions

	mu      sync.Mutex
	infos   []schemas.ToolInfo // as listed, before the filters
	tools   []schemas.Tool
	reasons map[string]string    // why tools are withheld
	changes []schemas.ToolChange // pending approval, with the digest of all tools
	digest  string
	lost    bool
	// instructions are the server's; list identifies all definitions, and unseen is set while nobody
	// has confirmed them.
	instructions string
	list         string
	unseen       bool
}

// A ShelfConfig is what [newShelf] needs.
type ShelfConfig struct {
	Server string
	// Config returns the server's current config.
	Config    func() *transport.ServerConfig
	Decisions *InForce
	Log       *slog.Logger
	// Publish is called after the tools have changed.
	Publish func()
}

// newShelf returns an empty shelf.
func newShelf(cfg ShelfConfig) *Shelf { return &Shelf{ShelfConfig: cfg} }

// Instruct replaces the server's instructions, which the next Put judges.
func (s *Shelf) Instruct(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.instructions = text
}

// Instructions returns the server's instructions, "" while they are withheld.
func (s *Shelf) Instructions() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reasons[schemas.Instructions] != "" {
		return ""
	}
	return s.instructions
}

// Unseen reports whether nobody has confirmed the list of tools, and the digest of the list.
func (s *Shelf) Unseen() (unseen bool, list string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.unseen && !s.lost && len(s.tools) > 0, s.list
}

// Put replaces the tools by those of an attached server.
func (s *Shelf) Put(infos []schemas.ToolInfo) {
	infos = slices.DeleteFunc(slices.Clone(infos), func(info schemas.ToolInfo) bool { return info.ToolName == schemas.Instructions })
	s.mu.Lock()
	// They are judged, pinned and approved like a tool, and are never offered as one.
	infos = append(infos, schemas.ToolInfo{Server: s.Server, ToolName: schemas.Instructions, Description: s.instructions})
	s.mu.Unlock()
	// A pinned server's changes are withheld, and its status shows them.
	if changed := s.definitions.compare(infos); changed != nil && !s.Config().Pin {
		s.Log.Warn("MCP server changed the definition of its tools", "tools", changed)
	}
	s.trustFirst(infos)
	s.mu.Lock()
	s.infos, s.lost = infos, false
	s.judge() // under the same lock, so that no call finds the new tools unjudged
	s.mu.Unlock()
	s.Publish()
}

// Leave marks the server as lost and keeps its tools, since it may come back.
func (s *Shelf) Leave() {
	s.mu.Lock()
	s.lost = true
	s.mu.Unlock()
	s.Publish()
}

// Clear removes all tools. It keeps the reasons why some were withheld.
func (s *Shelf) Clear() {
	s.mu.Lock()
	s.infos, s.tools = nil, nil
	s.mu.Unlock()
	s.Publish()
}

// Judge applies the changed config and decisions to the listed tools.
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

// trustFirst pins a pinned server's first list, and adopts what was decided about cut descriptions. It may
// write to the store, so the lock must not be held.
func (s *Shelf) trustFirst(infos []schemas.ToolInfo) {
	s.Decisions.adoptWhole(s.Server, infos, s.Log)
	if s.Config().Pin {
		s.Decisions.trustFirst(s.Server, infos, s.Log)
	}
}

// judge is called with the lock held.
func (s *Shelf) judge() {
	cfg := s.Config()
	s.tools = make([]schemas.Tool, 0, len(s.infos))
	reasons := map[string]string{}
	listed := slices.DeleteFunc(slices.Clone(s.infos), func(info schemas.ToolInfo) bool {
		return info.ToolName != schemas.Instructions && !cfg.Includes(info.ToolName)
	})
	confirmed, all := s.Decisions.confirmation(s.Server, listed)
	marks := cfg.Confirm(all)
	s.unseen, s.list = marks.Unseen, listDigest(listed)
	for _, info := range listed {
		why, off := s.Decisions.withheld(info, cfg.Pin)
		if why != "" {
			reasons[info.ToolName] = why
		}
		if info.ToolName == schemas.Instructions {
			continue
		}
		var known *schemas.ToolMarks
		if m, ok := confirmed[info.ToolName]; ok {
			known = &m
		}
		s.tools = append(s.tools, schemas.Tool{ToolInfo: info, Rules: cfg.Judge(info.ToolName, known, marks), Withheld: why, Off: off, Personal: cfg.AsPerson})
	}
	if len(s.infos) > 0 {
		s.reasons = reasons
	}
	s.changes, s.digest = nil, ""
	if cfg.Pin { // compares every definition, so not at each look
		s.changes, s.digest = s.Decisions.pending(s.infos)
	}
}

// Look returns the tools, and whether their server is attached.
func (s *Shelf) Look() (tools []schemas.Tool, here bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tools, !s.lost
}

// Count returns how many tools can be called now.
func (s *Shelf) Count() int {
	tools, here := s.Look()
	if !here {
		return 0
	}
	return len(tools)
}

// Listed returns an attached server's tools and instructions, before the filters.
func (s *Shelf) Listed() []schemas.ToolInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lost {
		return nil
	}
	return slices.Clone(s.infos)
}

// Included returns an attached server's tools and instructions, after the filters.
func (s *Shelf) Included() []schemas.ToolInfo {
	cfg := s.Config()
	return slices.DeleteFunc(s.Listed(), func(info schemas.ToolInfo) bool {
		return info.ToolName != schemas.Instructions && !cfg.Includes(info.ToolName)
	})
}

// Pending returns the changed tools that are pending approval.
func (s *Shelf) Pending() (changes []schemas.ToolChange, digest string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lost {
		return nil, ""
	}
	return slices.Clone(s.changes), s.digest
}

// Withheld returns why a tool must not be called, or "". For a lost server its last list counts.
func (s *Shelf) Withheld(tool string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reasons[tool]
}

// Notes returns the notes on changed definitions, oldest first.
func (s *Shelf) Notes() []string { return s.definitions.list(s.Config().Pin) }
