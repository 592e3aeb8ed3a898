package mcpclients

import (
	"context"
	"fmt"

	"molar/mcpclients/transport"
	"molar/schemas"
)

// Switch turns a tool off, or on again, by its offered name, or by its own where that
// is unambiguous. The switch is kept; it takes nothing of what the config forbids
// back. The error is [ErrUnknownTool] for a tool that no attached server has.
func (m *Manager) Switch(ctx context.Context, name string, on bool) error {
	tool, ok := m.Catalogue().Lookup(name)
	if !ok {
		return fmt.Errorf("%w %q: GET /v1/tools lists those of the attached servers", ErrUnknownTool, name)
	}
	if err := m.decisions.Switch(ctx, schemas.ToolRef{Server: tool.Server, Tool: tool.ToolName}, on); err != nil {
		return fmt.Errorf("switch tool %q: %w", name, err)
	}
	if s, err := m.server(tool.Server); err == nil {
		s.Shelf().Judge()
	}
	m.log.Info("a tool was switched", "server", tool.Server, "tool", tool.ToolName, "on", on)
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
	if !s.Config().Pin {
		return nil, fmt.Errorf("%w: its tools need no approval; set mcpServers.%s.pin to ask for it", ErrNotPinned, server)
	}
	infos := s.Shelf().Listed()
	if len(infos) == 0 {
		return nil, fmt.Errorf("%w: server %q lists no tools now, so there is nothing to approve", transport.ErrUnavailable, server)
	}
	pending, err := m.decisions.Approve(ctx, server, seen, infos)
	if err != nil {
		return nil, err
	}
	s.Shelf().Judge()
	m.log.Info("the tools of an MCP server were approved", "server", server, "tools", pending)
	return pending, nil
}

// Refresh takes over what other processes with the same Keeper decided meanwhile, which
// read tells.
func (m *Manager) Refresh(ctx context.Context, read func(context.Context) (schemas.ToolDecisions, error)) error {
	changed, err := m.decisions.Refresh(ctx, read)
	if err != nil || !changed {
		return err
	}
	for _, s := range m.servers.Load().list {
		s.Shelf().Judge()
	}
	m.log.Info("tools were switched or approved by another process")
	return nil
}
