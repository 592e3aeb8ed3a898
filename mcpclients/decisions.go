package mcpclients

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"molar/schemas"
)

// keepTimeout bounds the storing of pins when a server is attached.
const keepTimeout = 5 * time.Second

// Kinds of error of [Manager.Switch] and [Manager.Approve]. Use errors.Is.
var (
	// ErrUnknownTool means that no attached server has such a tool.
	ErrUnknownTool = errors.New("unknown tool")
	// ErrNotPinned means that the server's tools need no approval.
	ErrNotPinned = errors.New("server is not pinned")
	// ErrChanged means that the tools are no longer those that were looked at.
	ErrChanged = errors.New("the tools have changed since")
)

// A ToolRef names a tool by its server and its own name.
type ToolRef struct{ Server, Tool string }

// Decisions are what people decided about tools while a host ran.
type Decisions struct {
	// Off are the tools that were switched off.
	Off map[ToolRef]bool
	// Pins are digests of the definitions in use, by server and tool.
	Pins map[string]map[string]string
}

// A Keeper keeps decisions beyond the life of the process.
type Keeper interface {
	KeepSwitch(ctx context.Context, server, tool string, on bool) error
	// KeepPins replaces all pins of a server.
	KeepPins(ctx context.Context, server string, pins map[string]string) error
}

// decisions are those in force, shared by all servers.
type decisions struct {
	keeper Keeper // nil keeps nothing
	mu     sync.Mutex
	off    map[ToolRef]bool
	pins   map[string]map[string]string
	made   int // how many decisions this process made
}

func newDecisions(kept Decisions, keeper Keeper) *decisions {
	d := &decisions{keeper: keeper, off: maps.Clone(kept.Off), pins: maps.Clone(kept.Pins)}
	if d.off == nil {
		d.off = map[ToolRef]bool{}
	}
	if d.pins == nil {
		d.pins = map[string]map[string]string{}
	}
	return d
}

// digest stands for the whole definition of a tool as a model would see it.
func digest(info schemas.ToolInfo) string {
	raw, err := json.Marshal(info)
	if err != nil {
		return "" // no schema that was decoded fails here; an empty digest matches nothing
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

func digests(infos []schemas.ToolInfo) map[string]string {
	all := make(map[string]string, len(infos))
	for _, info := range infos {
		all[info.ToolName] = digest(info)
	}
	return all
}

// trustFirst pins the tools that a pinned server lists for the first time.
func (d *decisions) trustFirst(server string, infos []schemas.ToolInfo, log *slog.Logger) {
	d.mu.Lock()
	_, known := d.pins[server]
	if known || len(infos) == 0 {
		d.mu.Unlock()
		return
	}
	pins := digests(infos)
	d.pins[server] = pins
	d.made++
	d.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), keepTimeout)
	defer cancel()
	if err := d.keep(ctx, server, pins); err != nil {
		log.Warn("the pins of the server's tools hold only until molar ends", "error", err)
		return
	}
	log.Info("the server's tools are pinned as they are", "tools", len(pins))
}

func (d *decisions) keep(ctx context.Context, server string, pins map[string]string) error {
	if d.keeper == nil {
		return nil
	}
	return d.keeper.KeepPins(ctx, server, pins)
}

// withheld says why a tool must not be used, or "", and whether it is switched off.
func (d *decisions) withheld(info schemas.ToolInfo, pinned bool) (why string, off bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if off = d.off[ToolRef{info.Server, info.ToolName}]; off {
		why = "it is switched off"
	}
	if pinned {
		why = cmp.Or(d.unpinned(info), why)
	}
	return why, off
}

// unpinned says why a tool of a pinned server awaits approval, or "". d.mu is held.
func (d *decisions) unpinned(info schemas.ToolInfo) string {
	pins, known := d.pins[info.Server]
	if !known {
		return ""
	}
	before, seen := pins[info.ToolName]
	what := ""
	switch {
	case !seen:
		what = "it is new"
	case before != digest(info):
		what = "its definition changed"
	default:
		return ""
	}
	return fmt.Sprintf("%s since the server's tools were approved; read it, then run: molar servers approve %s", what, info.Server)
}

// Switch turns a tool off, or on again, by its offered name, or by its own where that
// is unambiguous. The switch is kept; it takes nothing of what the config forbids
// back. The error is [ErrUnknownTool] for a tool that no attached server has.
func (m *Manager) Switch(ctx context.Context, name string, on bool) error {
	tool, ok := m.Catalogue().Lookup(name)
	if !ok {
		return fmt.Errorf("%w %q: GET /v1/tools lists those of the attached servers", ErrUnknownTool, name)
	}
	ref := ToolRef{tool.Server, tool.ToolName}
	if keeper := m.decisions.keeper; keeper != nil {
		if err := keeper.KeepSwitch(ctx, ref.Server, ref.Tool, on); err != nil {
			return fmt.Errorf("switch tool %q: %w", name, err)
		}
	}
	m.decisions.mu.Lock()
	m.decisions.made++
	if on {
		delete(m.decisions.off, ref)
	} else {
		m.decisions.off[ref] = true
	}
	m.decisions.mu.Unlock()
	if s, err := m.server(ref.Server); err == nil {
		s.filterTools()
	}
	m.log.Info("a tool was switched", "server", ref.Server, "tool", ref.Tool, "on", on)
	return nil
}

// Approve takes the tools of a pinned server as they are now and returns the names of
// those that were withheld until then. With seen, the digest that a status showed, it
// refuses with [ErrChanged] when the server has changed its tools again meanwhile.
func (m *Manager) Approve(ctx context.Context, server, seen string) ([]string, error) {
	s, err := m.server(server)
	if err != nil {
		return nil, err
	}
	if !s.config().Pin {
		return nil, fmt.Errorf("%w: its tools need no approval; set mcpServers.%s.pin to ask for it", ErrNotPinned, server)
	}
	s.mu.Lock()
	infos := slices.Clone(s.infos)
	s.mu.Unlock()
	if len(infos) == 0 {
		return nil, fmt.Errorf("%w: server %q lists no tools now, so there is nothing to approve", ErrUnavailable, server)
	}
	pending, now := m.decisions.pending(infos)
	if seen != "" && seen != now {
		return nil, fmt.Errorf("%w: server %q lists other definitions than those you looked at; look again", ErrChanged, server)
	}
	pins := digests(infos)
	if err := m.decisions.keep(ctx, server, pins); err != nil {
		return nil, fmt.Errorf("approve the tools of server %q: %w", server, err)
	}
	m.decisions.mu.Lock()
	m.decisions.pins[server] = pins
	m.decisions.made++
	m.decisions.mu.Unlock()
	s.filterTools()
	m.log.Info("the tools of an MCP server were approved", "server", server, "tools", pending)
	return pending, nil
}

// pending returns the names of the tools that await approval, and one digest that
// stands for their definitions; both are empty when there are none.
func (d *decisions) pending(infos []schemas.ToolInfo) (names []string, sum string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var parts []string
	for _, info := range infos {
		if d.unpinned(info) != "" {
			names = append(names, info.ToolName)
			parts = append(parts, info.ToolName+" "+digest(info))
		}
	}
	if names == nil {
		return []string{}, ""
	}
	slices.Sort(names)
	slices.Sort(parts)
	all := sha256.Sum256([]byte(strings.Join(parts, "\n")))
	return names, hex.EncodeToString(all[:8])
}
