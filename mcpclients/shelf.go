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
	listed  []definition         // before the filters
	part    *part                // the tools, replaced when one changes
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
func newShelf(cfg ShelfConfig) *Shelf { return &Shelf{ShelfConfig: cfg, part: &part{}} }

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
	return s.unseen && !s.lost && len(s.part.tools) > 0, s.list
}

// Put replaces the tools by those of an attached server.
func (s *Shelf) Put(infos []schemas.ToolInfo) {
	infos = slices.DeleteFunc(slices.Clone(infos), func(info schemas.ToolInfo) bool { return info.ToolName == schemas.Instructions })
	s.mu.Lock()
	// They are judged, pinned and approved like a tool, and are never offered as one.
	infos = append(infos, schemas.ToolInfo{Server: s.Server, ToolName: schemas.Instructions, Description: s.instructions})
	before := s.listed
	s.mu.Unlock()
	list, same := define(infos, before)
	if !same {
		// A pinned server's changes are withheld, and its status shows them.
		if changed := s.definitions.compare(list); changed != nil && !s.Config().Pin {
			s.Log.Warn("MCP server changed the definition of its tools", "tools", changed)
		}
		s.trustFirst(list)
	}
	s.mu.Lock()
	came := s.lost
	s.lost = false
	if !same {
		s.listed = list
		s.judge() // under the same lock, so that no call finds the new tools unjudged
	}
	s.mu.Unlock()
	if came || !same {
		s.Publish()
	}
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
	had := len(s.part.tools) > 0
	if s.listed = nil; had {
		s.part = &part{}
	}
	s.mu.Unlock()
	if had {
		s.Publish()
	}
}

// Judge applies the changed config and decisions to the listed tools.
func (s *Shelf) Judge() {
	s.judgeAgain()
	s.Publish()
}

// judgeAgain is Judge for the tools of one person's connection, which are published when they change.
func (s *Shelf) judgeAgain() {
	s.mu.Lock()
	list := s.listed
	s.mu.Unlock()
	s.trustFirst(list)
	s.mu.Lock()
	s.judge()
	s.mu.Unlock()
}

// trustFirst pins a pinned server's first list, and adopts what was decided about cut descriptions. It may
// write to the store, so the lock must not be held.
func (s *Shelf) trustFirst(list []definition) {
	s.Decisions.adoptWhole(s.Server, listed(list), s.Log)
	if s.Config().Pin {
		s.Decisions.trustFirst(s.Server, list, s.Log)
	}
}

// judge is called with the lock held.
func (s *Shelf) judge() {
	cfg := s.Config()
	reasons := map[string]string{}
	included := slices.DeleteFunc(slices.Clone(s.listed), func(t definition) bool {
		return t.ToolName != schemas.Instructions && !cfg.Includes(t.ToolName)
	})
	confirmed, all := s.Decisions.confirmation(s.Server, included)
	marks := cfg.Confirm(all)
	s.unseen, s.list = marks.Unseen, listDigest(included)
	s.part = &part{tools: make([]schemas.Tool, 0, len(included)), labels: make([]*label, 0, len(included))}
	for _, t := range included {
		why, off := s.Decisions.withheld(t, cfg.Pin)
		if why != "" {
			reasons[t.ToolName] = why
		}
		if t.ToolName == schemas.Instructions {
			continue
		}
		var known *schemas.ToolMarks
		if m, ok := confirmed[t.ToolName]; ok {
			known = &m
		}
		tool := schemas.Tool{ToolInfo: t.ToolInfo, Rules: cfg.Judge(t.ToolName, known, marks), Withheld: why, Off: off, Personal: cfg.AsPerson}
		tool.InputSchema = t.trimmed
		s.part.tools, s.part.labels = append(s.part.tools, tool), append(s.part.labels, t.label)
	}
	if len(s.listed) > 0 {
		s.reasons = reasons
	}
	s.changes, s.digest = nil, ""
	if cfg.Pin { // compares every definition, so not at each look
		s.changes, s.digest = s.Decisions.pending(s.listed)
	}
}

// Look returns the tools, and whether their server is attached.
func (s *Shelf) Look() (tools []schemas.Tool, here bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.part.tools, !s.lost
}

// now returns the tools as a part of a catalogue, and whether their server is attached. The part is
// another one when anything in it has changed.
func (s *Shelf) now() (tools *part, here bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.part, !s.lost
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
	return listed(s.listed)
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
