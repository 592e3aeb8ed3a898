package mcpclients

import (
	"context"
	"fmt"
	"slices"

	"molar/mcpclients/transport"
	"molar/schemas"
)

// Switch turns a tool off or on by its offered name, or by its own name if that is unambiguous.
// It stores the switch, which never allows what the config forbids. The error is [ErrUnknownTool]
// if no attached server has the tool.
func (m *Manager) Switch(ctx context.Context, name string, on bool) error {
	tool, ok := m.Catalogue().Lookup(name)
	if !ok {
		return fmt.Errorf("%w %q: GET /v1/tools lists those of the attached servers", ErrUnknownTool, name)
	}
	if err := m.decisions.Switch(ctx, schemas.ToolRef{Server: tool.Server, Tool: tool.ToolName}, on); err != nil {
		return fmt.Errorf("switch tool %q: %w", name, err)
	}
	if s, err := m.server(tool.Server); err == nil {
		s.applyDecisions()
	}
	m.log.Info("a tool was switched", "server", tool.Server, "tool", tool.ToolName, "on", on)
	return nil
}

// Approve accepts the current tools of a pinned server and returns the names of those that were
// pending approval. If seen, the digest from a status, is set and the server has changed its
// tools since, it returns [ErrChanged].
func (m *Manager) Approve(ctx context.Context, server, reviewed string) ([]string, error) {
	s, err := m.server(server)
	if err != nil {
		return nil, err
	}
	if !s.Config().Pin {
		return nil, fmt.Errorf("%w: its tools need no approval; set mcpServers.%s.pin to ask for it", ErrNotPinned, server)
	}
	infos := s.Shelf().Listed()
	if !hasTools(infos) {
		return nil, s.listsNothing("approve")
	}
	pending, err := m.decisions.Approve(ctx, server, reviewed, infos)
	if err != nil {
		return nil, err
	}
	s.applyDecisions()
	m.log.Info("the tools of an MCP server were approved", "server", server, "tools", pending)
	return pending, nil
}

// listsNothing returns the error, with its reason, of a server without tools about which something is
// to be decided.
func (s *server) listsNothing(decision string) error {
	because := ""
	if reason := s.Look().Reason; reason != "" {
		because = ": " + reason
	}
	return fmt.Errorf("%w: server %q lists no tools now, so there is nothing to %s%s", transport.ErrUnavailable, s.Name(), decision, because)
}

// Confirm stores what a person confirms about a server's tools, from then on in force. The proposal's
// digest must be that of the list as it is now, else the error is [ErrChanged].
func (m *Manager) Confirm(ctx context.Context, p schemas.Proposal) error {
	s, err := m.server(p.Server)
	if err != nil {
		return err
	}
	infos := s.Shelf().Included()
	if !hasTools(infos) {
		return s.listsNothing("confirm")
	}
	if list, _ := define(infos, nil); p.Digest != listDigest(list) {
		return fmt.Errorf("%w: server %q lists other definitions than those that you saw; look again", ErrChanged, p.Server)
	}
	for _, t := range p.Tools {
		if !slices.ContainsFunc(infos, func(info schemas.ToolInfo) bool { return info.ToolName == t.Tool }) {
			return fmt.Errorf("%w %q: server %q does not list it", ErrUnknownTool, t.Tool, p.Server)
		}
	}
	if err := m.decisions.Confirm(ctx, p, infos); err != nil {
		return err
	}
	s.applyDecisions()
	m.log.Info("the marks of an MCP server were confirmed", "server", p.Server, "public", p.Public, "closed", p.Closed, "readonly", p.ReadOnly, "tools", len(p.Tools))
	return nil
}

// Refresh adopts the decisions of other processes with the same Keeper, as read returns them.
func (m *Manager) Refresh(ctx context.Context, read func(context.Context) (schemas.ToolDecisions, error)) error {
	changed, err := m.decisions.Refresh(ctx, read)
	if err != nil || !changed {
		return err
	}
	for _, s := range m.servers.Load().list {
		s.applyDecisions()
	}
	m.log.Info("tools were switched or approved by another process")
	return nil
}
