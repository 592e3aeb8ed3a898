package serve

import (
	"cmp"
	"context"
	"errors"

	"molar/agent"
	"molar/agent/answer"
	"molar/internal/cli"
	"molar/internal/host"
	"molar/internal/httpguard"
	"molar/mcpservers"
	"molar/mcpservers/httpserver"
	"molar/schemas"
)

// openAssistants connects a whole host to the port; its assistants are the port's tools.
func (p *mcpPort) openAssistants(ctx context.Context, m MCPConfig, port *httpserver.Config) error {
	h, err := host.Open(ctx, m.Config, m.Log, host.Options{AttachWait: serveAttachWait, Summaries: true, Env: m.CLI.Env})
	if err != nil {
		return err
	}
	p.db, p.closeBackend = h.DB, h.Close
	ask := func(ctx context.Context, q mcpservers.Question) (mcpservers.Answer, error) {
		return askAssistant(ctx, h, q)
	}
	port.ToolsAlone = true
	port.Tools, err = mcpservers.NewAssistants(mcpservers.AssistantsConfig{Assistants: h.Agent.Assistants(), Ask: ask, Version: cli.Version(), Logger: m.Log})
	return err
}

// askAssistant runs a turn for an MCP client. Its text is what another host's model wrote, so nobody
// typed it. There is no one to approve: a call that needs approval does not run, and the answer
// reports it.
func askAssistant(ctx context.Context, h *host.Host, q mcpservers.Question) (mcpservers.Answer, error) {
	turn := agent.Turn{
		ID: schemas.NewID(), Assistant: q.Assistant,
		Place:    agent.Place{ConversationID: q.ConversationID, Owner: httpguard.PrincipalOf(ctx).Owner},
		Messages: []schemas.Message{schemas.Text(schemas.RoleUser, q.Text)},
		Data:     true,
	}
	var seen answer.Collector
	for ev, err := range h.Runner().Run(ctx, turn) {
		if err != nil {
			return mcpservers.Answer{}, err
		}
		seen.Add(ev)
	}
	if seen.Done == nil {
		return mcpservers.Answer{}, errors.New("the turn ended before its answer did")
	}
	reply := mcpservers.Answer{
		Text: seen.Answer(), Sources: seen.Sources, Refused: seen.Done.Refused, Warnings: seen.Warnings, Unapproved: seen.Done.Unapproved,
	}
	if seen.Start != nil && seen.Done.Saved {
		reply.ConversationID = cmp.Or(seen.Start.ConversationID, q.ConversationID)
	}
	return reply, nil
}
