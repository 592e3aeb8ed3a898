package listen

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"

	"github.com/google/uuid"

	"molar/agent"
	"molar/internal/access"
	"molar/internal/cli"
	"molar/internal/config"
	"molar/internal/host"
	"molar/internal/httpguard"
	"molar/mcpservers/assistants"
	"molar/mcpservers/httpserver"
	"molar/schemas"
)

// openAssistants wires a whole host, and in front of it an MCP server whose tools are its
// assistants.
func openAssistants(ctx context.Context, c *cli.CLI, cfg *config.Config, log *slog.Logger, guard func(http.Handler) http.Handler) (*mcpPort, error) {
	h, err := host.Open(ctx, cfg, log, host.Options{AttachWait: serveAttachWait, Summaries: true, Env: c.Env})
	if err != nil {
		return nil, err
	}
	p := &mcpPort{db: h.DB}
	if guard != nil {
		p.keys, err = access.Open(ctx, access.Config{Store: h.DB, Keys: cfg.APIKeys, Logger: log})
	}
	if err == nil {
		p.server, err = assistantsServer(cfg, h, log, guard, p.keys)
	}
	if err != nil {
		h.Close()
		return nil, err
	}
	p.close = func() {
		p.server.Close()
		h.Close()
	}
	return p, nil
}

func assistantsServer(cfg *config.Config, h *host.Host, log *slog.Logger, guard func(http.Handler) http.Handler, keys *access.Access) (*httpserver.Server, error) {
	var all []assistants.Assistant
	for _, a := range h.Agent.Assistants() {
		all = append(all, assistants.Assistant{Name: a.Name, Description: a.Description})
	}
	ask := func(ctx context.Context, q assistants.Question) (assistants.Answer, error) {
		return askAssistant(ctx, h, q)
	}
	d, err := assistants.New(assistants.Config{Assistants: all, Ask: ask, Version: cli.Version(), Logger: log})
	if err != nil {
		return nil, err
	}
	return newMCPServer(cfg, httpserver.Config{Tools: d, ToolsAlone: true, Guard: guard, Logger: log, Version: cli.Version()}, keys)
}

// askAssistant runs a turn for a client of MCP. Nobody can be asked there, so that a call
// which needs approval does not run, and the answer says so.
func askAssistant(ctx context.Context, h *host.Host, q assistants.Question) (assistants.Answer, error) {
	turn := agent.Turn{
		ID: uuid.NewString(), Assistant: q.Assistant,
		Place:    agent.Place{ConversationID: q.ConversationID, Owner: httpguard.PrincipalOf(ctx).Owner},
		Messages: []schemas.Message{schemas.Text(schemas.RoleUser, q.Text)},
	}
	var seen agent.Collector
	for ev, err := range h.Runner().Run(ctx, turn) {
		if err != nil {
			return assistants.Answer{}, err
		}
		seen.Add(ev)
	}
	if seen.Done == nil {
		return assistants.Answer{}, errors.New("the turn ended before its answer did")
	}
	answer := assistants.Answer{
		Text: seen.Answer(), Sources: seen.Sources, Refused: seen.Done.Refused, Warnings: seen.Warnings, Unapproved: seen.Done.Unapproved,
	}
	if seen.Start != nil && seen.Done.Saved {
		answer.ConversationID = cmp.Or(seen.Start.ConversationID, q.ConversationID)
	}
	return answer, nil
}
